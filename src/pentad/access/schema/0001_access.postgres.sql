CREATE TABLE users (
    name_key      text PRIMARY KEY,
    name          text NOT NULL,
    password_hash text NOT NULL,
    role          text NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    scopes        text NOT NULL,
    created_at    double precision NOT NULL
);

CREATE TABLE api_keys (
    id           text PRIMARY KEY,
    digest       bytea NOT NULL,
    label        text NOT NULL,
    owner        text,
    scopes       text NOT NULL,
    created_at   double precision NOT NULL,
    expires_at   double precision,
    last_used_at double precision,
    revoked_at   double precision
);

CREATE TABLE server_secrets (
    name       text NOT NULL,
    generation bigint NOT NULL,
    created_at double precision NOT NULL,
    secret     bytea NOT NULL,
    PRIMARY KEY (name, generation)
);

CREATE TABLE rate_allowances (
    principal   text PRIMARY KEY,
    tokens      double precision NOT NULL,
    refilled_at double precision NOT NULL
);

-- The batch is a UUIDv7, so the key is also the order in time: no second index is paid for on every insert.
CREATE TABLE audit_entries (
    batch       bytea NOT NULL,
    seq         bigint NOT NULL,
    at          double precision NOT NULL,
    principal   text NOT NULL,
    room        text NOT NULL,
    tool        text NOT NULL,
    outcome     text NOT NULL,
    duration_us bigint NOT NULL,
    request_id  text NOT NULL,
    session     text NOT NULL,
    transport   text NOT NULL,
    trace       text NOT NULL,
    PRIMARY KEY (batch, seq)
);

CREATE TABLE call_totals (
    room        text NOT NULL,
    tool        text NOT NULL,
    outcome     text NOT NULL,
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
