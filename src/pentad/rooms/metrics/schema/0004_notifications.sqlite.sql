-- What a receiver was told last of each group of alerts: those that fire, as JSON.
CREATE TABLE metric_notifications (
    receiver  TEXT NOT NULL,
    group_key TEXT NOT NULL,
    alerts    TEXT NOT NULL,
    number    INTEGER NOT NULL,
    sent_at   REAL NOT NULL,
    PRIMARY KEY (receiver, group_key)
);

-- Alerts that nobody is told of until `ends`. Empty columns select everything.
CREATE TABLE metric_silences (
    id         TEXT PRIMARY KEY,
    collector  TEXT NOT NULL,
    key        TEXT NOT NULL,
    scope      TEXT NOT NULL,
    labels     TEXT NOT NULL,
    ends       REAL NOT NULL,
    reason     TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL
);
