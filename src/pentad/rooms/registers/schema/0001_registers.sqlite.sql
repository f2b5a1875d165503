-- Registers group schemas; schemas describe objects; objects hold data. Ids are small numbers people can type,
-- uuids are for machines, slugs for both. What has no column of its own is JSON in `body`.
CREATE TABLE registers (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid       TEXT NOT NULL UNIQUE,
    slug       TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT;
CREATE UNIQUE INDEX registers_by_slug ON registers (lower(slug));

CREATE TABLE schemas (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid       TEXT NOT NULL UNIQUE,
    slug       TEXT NOT NULL,
    body       TEXT NOT NULL,
    changes    INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT;
CREATE UNIQUE INDEX schemas_by_slug ON schemas (lower(slug));

-- One wide table: a changed schema needs no DDL, a uuid is found without knowing where it lives. Each schema has partial
-- indexes of its own, made from what it declares.
CREATE TABLE objects (
    id           INTEGER PRIMARY KEY,
    uuid         TEXT NOT NULL UNIQUE,
    register     INTEGER NOT NULL REFERENCES registers (id),
    schema       INTEGER NOT NULL REFERENCES schemas (id),
    version      INTEGER NOT NULL,
    data         TEXT NOT NULL,
    slug         TEXT,
    owner        TEXT NOT NULL,
    organisation TEXT NOT NULL,
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL,
    deleted      TEXT,
    lock         TEXT,
    hash         BLOB NOT NULL
) STRICT;
CREATE INDEX objects_by_pair ON objects (register, schema, id, organisation) WHERE deleted IS NULL;
CREATE INDEX objects_deleted ON objects (register, schema, id) WHERE deleted IS NOT NULL;
CREATE INDEX objects_by_slug ON objects (schema, slug) WHERE slug IS NOT NULL;

-- What happened, in order. `before` is the data this change replaced (NULL where there was none), so a new object costs no
-- copy of itself, and the state at any past time is the object now or one `before`. No row ever goes, so no number comes
-- back.
CREATE TABLE object_changes (
    seq        INTEGER PRIMARY KEY,
    uuid       TEXT NOT NULL,
    register   INTEGER NOT NULL,
    schema     INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    action     TEXT NOT NULL,
    at         REAL NOT NULL,
    since      REAL,
    before     TEXT,
    before_deleted INTEGER NOT NULL DEFAULT 0,
    principal  TEXT NOT NULL,
    agent      TEXT,
    session    TEXT,
    call       TEXT,
    reason     TEXT,
    plan       TEXT,
    hash       BLOB NOT NULL
) STRICT;
CREATE INDEX object_changes_of ON object_changes (uuid, version);
CREATE INDEX object_changes_by_pair ON object_changes (schema, register, seq);
CREATE INDEX object_changes_by_plan ON object_changes (plan) WHERE plan IS NOT NULL;

-- Which object points at which, by which property: kept up to date with the data, so that integrity is one look-up.
CREATE TABLE object_references (
    source   TEXT NOT NULL,
    path     TEXT NOT NULL,
    target   TEXT NOT NULL,
    schema   INTEGER NOT NULL,
    PRIMARY KEY (source, path, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_references_to ON object_references (target, schema);

CREATE VIRTUAL TABLE object_text USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
-- Parts of the index are merged when there are eight of a size, not four: half the work on writing, the same on reading.
INSERT INTO object_text (object_text, rank) VALUES ('automerge', 8);

-- Files attached to objects, in pieces of at most a mebibyte. They go with their object.
CREATE TABLE files (
    id          TEXT PRIMARY KEY,
    object      TEXT NOT NULL REFERENCES objects (uuid) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    size        INTEGER NOT NULL,
    modified_at REAL NOT NULL,
    UNIQUE (object, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE file_pieces (
    file    TEXT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (file, number)
) STRICT;

CREATE TABLE idempotency_keys (
    principal TEXT NOT NULL,
    key       TEXT NOT NULL,
    request   BLOB NOT NULL,
    answer    TEXT NOT NULL,
    at        REAL NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (at);

CREATE TABLE plans (
    id         TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    operations TEXT NOT NULL,
    preview    TEXT NOT NULL,
    versions   TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at REAL NOT NULL,
    changed_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE saved_queries (
    id         TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    title      TEXT NOT NULL,
    register   INTEGER NOT NULL,
    schema     INTEGER NOT NULL,
    query      TEXT NOT NULL,
    digest     BLOB,
    created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_queries_by_schema ON saved_queries (schema, register);

CREATE TABLE organisations (
    id         TEXT PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE organisation_members (
    principal    TEXT PRIMARY KEY,
    organisation TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE webhooks (
    id         TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    body       TEXT NOT NULL,
    position   TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_deliveries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook    TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    state      TEXT NOT NULL,
    status     INTEGER,
    problem    TEXT,
    due_at     REAL NOT NULL,
    leased_until REAL NOT NULL DEFAULT 0,
    at         REAL NOT NULL
) STRICT;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (webhook, id);
