-- What happened to schemas, in order. `before` is the definition this change replaced (NULL for a new schema), so the
-- schema at any past time is the schema now or one `before`. Goes with the schema.
CREATE TABLE schema_changes (
    schema    INTEGER NOT NULL REFERENCES schemas (id) ON DELETE CASCADE,
    version   INTEGER NOT NULL,
    action    TEXT NOT NULL,
    at        REAL NOT NULL,
    since     REAL,
    before    TEXT,
    change    TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent     TEXT,
    session   TEXT,
    call      TEXT,
    reason    TEXT,
    PRIMARY KEY (schema, version)
) STRICT, WITHOUT ROWID;
