-- Views: saved queries with columns. A view with an organisation is shared with its members. `uses` are the other schemas
-- it reads through relations. Queries saved before keep their id, which is their slug too.
CREATE TABLE views (
    id           TEXT COLLATE "C" PRIMARY KEY,
    slug         TEXT COLLATE "C" NOT NULL,
    principal    TEXT COLLATE "C" NOT NULL,
    organisation TEXT COLLATE "C",
    title        TEXT COLLATE "C" NOT NULL,
    description  TEXT COLLATE "C" NOT NULL DEFAULT '',
    register     BIGINT NOT NULL,
    schema       BIGINT NOT NULL,
    query        TEXT COLLATE "C" NOT NULL,
    uses         TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    digest       BYTEA,
    created_at   DOUBLE PRECISION NOT NULL,
    updated_at   DOUBLE PRECISION NOT NULL
);
INSERT INTO views (id, slug, principal, title, register, schema, query, digest, created_at, updated_at)
    SELECT id, id, principal, title, register, schema, query, digest, created_at, created_at FROM saved_queries;
DROP TABLE saved_queries;
CREATE INDEX views_by_schema ON views (schema, register);
CREATE UNIQUE INDEX views_by_slug ON views (principal, slug);
CREATE INDEX views_shared ON views (organisation) WHERE organisation IS NOT NULL;
