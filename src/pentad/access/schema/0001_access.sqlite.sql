CREATE TABLE users (
    name_key      TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    scopes        TEXT NOT NULL,
    created_at    REAL NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    digest       BLOB NOT NULL,
    label        TEXT NOT NULL,
    owner        TEXT,
    scopes       TEXT NOT NULL,
    created_at   REAL NOT NULL,
    expires_at   REAL,
    last_used_at REAL,
    revoked_at   REAL
) STRICT;

CREATE TABLE server_secrets (
    name       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    created_at REAL NOT NULL,
    secret     BLOB NOT NULL,
    PRIMARY KEY (name, generation)
) STRICT;

CREATE TABLE rate_allowances (
    principal   TEXT PRIMARY KEY,
    tokens      REAL NOT NULL,
    refilled_at REAL NOT NULL
) STRICT;

-- A second's calls are one row. Its id is a UUIDv7, so the key is also the order in time.
CREATE TABLE audit_batches (
    id      BLOB PRIMARY KEY,
    size    INTEGER NOT NULL,
    entries BLOB NOT NULL
) STRICT;

CREATE TABLE call_totals (
    room        TEXT NOT NULL,
    tool        TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    total_us    INTEGER NOT NULL,
    le_500      INTEGER NOT NULL,
    le_1000     INTEGER NOT NULL,
    le_2500     INTEGER NOT NULL,
    le_5000     INTEGER NOT NULL,
    le_10000    INTEGER NOT NULL,
    le_25000    INTEGER NOT NULL,
    le_50000    INTEGER NOT NULL,
    le_100000   INTEGER NOT NULL,
    le_250000   INTEGER NOT NULL,
    le_500000   INTEGER NOT NULL,
    le_1000000  INTEGER NOT NULL,
    le_2500000  INTEGER NOT NULL,
    le_5000000  INTEGER NOT NULL,
    le_10000000 INTEGER NOT NULL,
    le_more     INTEGER NOT NULL,
    PRIMARY KEY (room, tool, outcome)
) STRICT, WITHOUT ROWID;
