-- What a receiver was told last of each group of alerts: those that fire, as JSON.
CREATE TABLE metric_notifications (
    receiver  TEXT COLLATE "C" NOT NULL,
    group_key TEXT COLLATE "C" NOT NULL,
    alerts    TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    sent_at   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (receiver, group_key)
);

-- Alerts that nobody is told of until `ends`. Empty columns select everything.
CREATE TABLE metric_silences (
    id         TEXT COLLATE "C" PRIMARY KEY,
    collector  TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    scope      TEXT COLLATE "C" NOT NULL,
    labels     TEXT COLLATE "C" NOT NULL,
    ends       DOUBLE PRECISION NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL
);
