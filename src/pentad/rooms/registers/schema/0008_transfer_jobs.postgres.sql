-- Imports and exports that run as jobs. `rows_done` and `tally` are what the committed part of an import did.
CREATE TABLE transfers (
    id         TEXT COLLATE "C" PRIMARY KEY,
    kind       TEXT COLLATE "C" NOT NULL,
    principal  TEXT COLLATE "C" NOT NULL,
    register   BIGINT NOT NULL,
    schema     BIGINT NOT NULL,
    request    TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    rows_done  BIGINT NOT NULL DEFAULT 0,
    tally      TEXT COLLATE "C",
    result     TEXT COLLATE "C",
    size       BIGINT NOT NULL DEFAULT 0,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX transfers_by_principal ON transfers (principal, created_at);
CREATE INDEX transfers_by_time ON transfers (updated_at);

-- The file to import, or the exported one.
CREATE TABLE transfer_pieces (
    transfer TEXT COLLATE "C" NOT NULL REFERENCES transfers (id) ON DELETE CASCADE,
    number   BIGINT NOT NULL,
    content  BYTEA NOT NULL,
    PRIMARY KEY (transfer, number)
);
