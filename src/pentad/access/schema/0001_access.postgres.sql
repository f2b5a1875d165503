CREATE TABLE users (
    name_key      TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C" NOT NULL,
    role          TEXT COLLATE "C" NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    scopes        TEXT COLLATE "C" NOT NULL,
    created_at    double precision NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT COLLATE "C" PRIMARY KEY,
    digest       bytea NOT NULL,
    label        TEXT COLLATE "C" NOT NULL,
    owner        TEXT COLLATE "C",
    scopes       TEXT COLLATE "C" NOT NULL,
    created_at   double precision NOT NULL,
    expires_at   double precision,
    last_used_at double precision,
    revoked_at   double precision
);

CREATE TABLE server_secrets (
    name       TEXT COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    created_at double precision NOT NULL,
    secret     bytea NOT NULL,
    PRIMARY KEY (name, generation)
);

CREATE TABLE rate_allowances (
    principal   TEXT COLLATE "C" PRIMARY KEY,
    tokens      double precision NOT NULL,
    refilled_at double precision NOT NULL
);

-- A second's calls are one row. Its id is a UUIDv7, so the key is also the order in time.
CREATE TABLE audit_batches (
    id      BYTEA PRIMARY KEY,
    size    BIGINT NOT NULL,
    entries BYTEA NOT NULL
);

CREATE TABLE call_totals (
    room        TEXT COLLATE "C" NOT NULL,
    tool        TEXT COLLATE "C" NOT NULL,
    outcome     TEXT COLLATE "C" NOT NULL,
    calls       bigint NOT NULL,
    total_us    bigint NOT NULL,
    le_500      bigint NOT NULL,
    le_1000     bigint NOT NULL,
    le_2500     bigint NOT NULL,
    le_5000     bigint NOT NULL,
    le_10000    bigint NOT NULL,
    le_25000    bigint NOT NULL,
    le_50000    bigint NOT NULL,
    le_100000   bigint NOT NULL,
    le_250000   bigint NOT NULL,
    le_500000   bigint NOT NULL,
    le_1000000  bigint NOT NULL,
    le_2500000  bigint NOT NULL,
    le_5000000  bigint NOT NULL,
    le_10000000 bigint NOT NULL,
    le_more     bigint NOT NULL,
    PRIMARY KEY (room, tool, outcome)
);
