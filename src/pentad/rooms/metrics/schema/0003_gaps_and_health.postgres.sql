-- Stretches without a number, and why. The last one of a series has no end while it lasts. Roll-ups do not touch them.
CREATE TABLE metric_gaps (
    series BIGINT NOT NULL REFERENCES metric_series (id),
    began  DOUBLE PRECISION NOT NULL,
    ended  DOUBLE PRECISION,
    reason TEXT COLLATE "C" NOT NULL,
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
    collector    TEXT COLLATE "C" NOT NULL,
    scope        TEXT COLLATE "C" NOT NULL,
    series_scope TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    since        DOUBLE PRECISION NOT NULL,
    tried_at     DOUBLE PRECISION NOT NULL,
    succeeded_at DOUBLE PRECISION,
    seconds      DOUBLE PRECISION NOT NULL,
    facts_ok     BIGINT NOT NULL,
    facts_stale  BIGINT NOT NULL,
    facts_failed BIGINT NOT NULL,
    polls        BIGINT NOT NULL,
    failures     BIGINT NOT NULL,
    calls        BIGINT NOT NULL,
    throttled    BIGINT NOT NULL,
    problem      TEXT COLLATE "C",
    PRIMARY KEY (collector, scope)
);
