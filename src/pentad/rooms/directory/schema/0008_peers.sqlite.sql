-- Tells this store from others that peers may have followed at the same address.
CREATE TABLE directory_store (id TEXT NOT NULL) STRICT;
INSERT INTO directory_store (id) VALUES (lower(hex(randomblob(8))));

-- What happened to records after they were stored: new statements about them, quarantine, deletion. One row per CID, the
-- last change; a CID without a record is a tombstone. New records are in the order of their ids and not in here.
CREATE TABLE directory_changes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    cid      TEXT NOT NULL UNIQUE
) STRICT;

-- The directories that this one follows. `credentials` is JSON, encrypted if the server has a key; `position` is how far
-- the peer's changes were read; copies that were `seen` before the current `generation` are no longer there.
CREATE TABLE directory_peers (
    name           TEXT PRIMARY KEY,
    url            TEXT NOT NULL,
    auth           TEXT NOT NULL,
    credentials    TEXT,
    filters        TEXT NOT NULL,
    removing       INTEGER NOT NULL DEFAULT 0,
    position       TEXT NOT NULL DEFAULT '',
    generation     INTEGER NOT NULL DEFAULT 0,
    skipped        INTEGER NOT NULL DEFAULT 0,
    skipped_reason TEXT,
    problem        TEXT,
    failing_since  REAL,
    in_step_at     REAL,
    created_by     TEXT NOT NULL,
    created_at     REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Where copies come from. A record without an origin was pushed here.
CREATE TABLE directory_origins (
    record INTEGER NOT NULL REFERENCES directory_records (id) ON DELETE CASCADE,
    peer   TEXT NOT NULL,
    seen   INTEGER NOT NULL,
    PRIMARY KEY (record, peer)
) STRICT, WITHOUT ROWID;
CREATE INDEX directory_origins_of ON directory_origins (peer, seen);
