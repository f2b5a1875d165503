-- Stretches without a number, and why. The last one of a series has no end while it lasts. Roll-ups do not touch them.
CREATE TABLE metric_gaps (
    series INTEGER NOT NULL REFERENCES metric_series (id),
    began  REAL NOT NULL,
    ended  REAL,
    reason TEXT NOT NULL,
    PRIMARY KEY (series, began)
);

INSERT INTO metric_gaps (series, began, ended, reason)
    SELECT m.series, m.at,
        (SELECT min(x.at) FROM metric_samples x WHERE x.series = m.series AND x.at > m.at),
        CASE m.state
            WHEN 'no-permission' THEN 'no_permission' WHEN 'not-entitled' THEN 'not_entitled'
            WHEN 'partial' THEN 'failed' ELSE m.state
        END
    FROM metric_samples m WHERE m.value IS NULL AND m.text IS NULL;
DELETE FROM metric_samples WHERE value IS NULL AND text IS NULL;

-- How the last poll of each collector went, and since when it goes like that.
CREATE TABLE metric_collector_health (
    collector    TEXT NOT NULL,
    scope        TEXT NOT NULL,
    series_scope TEXT NOT NULL,
    state        TEXT NOT NULL,
    since        REAL NOT NULL,
    tried_at     REAL NOT NULL,
    succeeded_at REAL,
    seconds      REAL NOT NULL,
    facts_ok     INTEGER NOT NULL,
    facts_stale  INTEGER NOT NULL,
    facts_failed INTEGER NOT NULL,
    polls        INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    calls        INTEGER NOT NULL,
    throttled    INTEGER NOT NULL,
    problem      TEXT,
    PRIMARY KEY (collector, scope)
);
