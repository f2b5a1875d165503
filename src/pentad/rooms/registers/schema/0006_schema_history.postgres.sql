-- What happened to schemas, in order. `before` is the definition this change replaced (NULL for a new schema), so the
-- schema at any past time is the schema now or one `before`. Goes with the schema.
CREATE TABLE schema_changes (
    schema    BIGINT NOT NULL REFERENCES schemas (id) ON DELETE CASCADE,
    version   BIGINT NOT NULL,
    action    TEXT COLLATE "C" NOT NULL,
    at        DOUBLE PRECISION NOT NULL,
    since     DOUBLE PRECISION,
    before    TEXT COLLATE "C",
    change    TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    agent     TEXT COLLATE "C",
    session   TEXT COLLATE "C",
    call      TEXT COLLATE "C",
    reason    TEXT COLLATE "C",
    PRIMARY KEY (schema, version)
);
