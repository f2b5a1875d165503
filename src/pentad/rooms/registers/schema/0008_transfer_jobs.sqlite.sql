-- Imports and exports that run as jobs. `rows_done` and `tally` are what the committed part of an import did.
CREATE TABLE transfers (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    principal  TEXT NOT NULL,
    register   INTEGER NOT NULL,
    schema     INTEGER NOT NULL,
    request    TEXT NOT NULL,
    state      TEXT NOT NULL,
    rows_done  INTEGER NOT NULL DEFAULT 0,
    tally      TEXT,
    result     TEXT,
    size       INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX transfers_by_principal ON transfers (principal, created_at);
CREATE INDEX transfers_by_time ON transfers (updated_at);

-- The file to import, or the exported one.
CREATE TABLE transfer_pieces (
    transfer TEXT NOT NULL REFERENCES transfers (id) ON DELETE CASCADE,
    number   INTEGER NOT NULL,
    content  BLOB NOT NULL,
    PRIMARY KEY (transfer, number)
) STRICT;
