-- A dictionary of series, so that a sample is a few numbers; samples are only ever added, and leave by retention.
CREATE TABLE metric_series (
    id        INTEGER PRIMARY KEY,
    collector TEXT NOT NULL,
    scope     TEXT NOT NULL,
    key       TEXT NOT NULL,
    labels    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    unit      TEXT,
    UNIQUE (collector, scope, key, labels)
);

CREATE TABLE metric_samples (
    series INTEGER NOT NULL REFERENCES metric_series (id),
    at     REAL NOT NULL,
    value  REAL,
    text   TEXT,
    state  TEXT NOT NULL,
    PRIMARY KEY (series, at)
) WITHOUT ROWID;
CREATE INDEX metric_samples_by_time ON metric_samples (at);

-- What samples leave behind: for each hour (step 3600) or day (86400) the least, the greatest, the sum and the last.
CREATE TABLE metric_rollups (
    series  INTEGER NOT NULL REFERENCES metric_series (id),
    step    INTEGER NOT NULL,
    at      REAL NOT NULL,
    samples INTEGER NOT NULL,
    lowest  REAL NOT NULL,
    highest REAL NOT NULL,
    total   REAL NOT NULL,
    first   REAL NOT NULL,
    last    REAL NOT NULL,
    rise    REAL NOT NULL,
    last_at REAL NOT NULL,
    PRIMARY KEY (series, step, at)
) WITHOUT ROWID;
CREATE INDEX metric_rollups_by_time ON metric_rollups (step, at);

CREATE TABLE metric_alerts (
    series   INTEGER PRIMARY KEY REFERENCES metric_series (id),
    level    TEXT NOT NULL,
    pending  TEXT NOT NULL,
    seen     INTEGER NOT NULL,
    since    REAL NOT NULL,
    value    REAL,
    limit_at REAL,
    checked  REAL NOT NULL
);

CREATE TABLE metric_alert_changes (
    id     INTEGER PRIMARY KEY,
    series INTEGER NOT NULL REFERENCES metric_series (id),
    at     REAL NOT NULL,
    before TEXT NOT NULL,
    after  TEXT NOT NULL,
    value  REAL
);
CREATE INDEX metric_alert_changes_by_time ON metric_alert_changes (at);

-- Who polls what, until when nobody else may, and when it is due again.
CREATE TABLE metric_polls (
    collector TEXT NOT NULL,
    scope     TEXT NOT NULL,
    due       REAL NOT NULL,
    holder    TEXT,
    held_until REAL NOT NULL,
    polled    REAL,
    outcome   TEXT,
    PRIMARY KEY (collector, scope)
);
