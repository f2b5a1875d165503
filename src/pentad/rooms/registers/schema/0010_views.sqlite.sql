-- Views: saved queries with columns. A view with an organisation is shared with its members. `uses` are the other schemas
-- it reads through relations. Queries saved before keep their id, which is their slug too.
CREATE TABLE views (
    id           TEXT PRIMARY KEY,
    slug         TEXT NOT NULL,
    principal    TEXT NOT NULL,
    organisation TEXT,
    title        TEXT NOT NULL,
    description  TEXT NOT NULL DEFAULT '',
    register     INTEGER NOT NULL,
    schema       INTEGER NOT NULL,
    query        TEXT NOT NULL,
    uses         TEXT NOT NULL DEFAULT '[]',
    digest       BLOB,
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO views (id, slug, principal, title, register, schema, query, digest, created_at, updated_at)
    SELECT id, id, principal, title, register, schema, query, digest, created_at, created_at FROM saved_queries;
DROP TABLE saved_queries;
CREATE INDEX views_by_schema ON views (schema, register);
CREATE UNIQUE INDEX views_by_slug ON views (principal, slug);
CREATE INDEX views_shared ON views (organisation) WHERE organisation IS NOT NULL;
