-- Programs that ask for access: registered here, or described by a document at the URL that is their id.
CREATE TABLE oauth_clients (
    id          TEXT COLLATE "C" PRIMARY KEY,
    metadata    TEXT COLLATE "C" NOT NULL,
    secret      bytea,
    host        TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    created_at  double precision NOT NULL,
    fresh_until double precision,
    used_at     double precision
);

CREATE INDEX oauth_clients_unused ON oauth_clients (address, host, created_at);

-- A code that was redeemed names its grant, so that a second use ends it.
CREATE TABLE oauth_codes (
    digest       bytea PRIMARY KEY,
    client_id    TEXT COLLATE "C" NOT NULL,
    client_name  TEXT COLLATE "C" NOT NULL,
    user_key     TEXT COLLATE "C" NOT NULL,
    redirect_uri TEXT COLLATE "C" NOT NULL,
    challenge    TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    resources    TEXT COLLATE "C" NOT NULL,
    expires_at   double precision NOT NULL,
    grant_until  double precision NOT NULL,
    grant_id     TEXT COLLATE "C"
);

CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

-- One consent of a user for one client. Tokens belong to it and end with it.
CREATE TABLE oauth_grants (
    id           TEXT COLLATE "C" PRIMARY KEY,
    user_key     TEXT COLLATE "C" NOT NULL,
    client_id    TEXT COLLATE "C" NOT NULL,
    client_name  TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    resources    TEXT COLLATE "C" NOT NULL,
    redirect_uri TEXT COLLATE "C" NOT NULL,
    created_at   double precision NOT NULL,
    expires_at   double precision NOT NULL,
    last_used_at double precision,
    revoked_at   double precision,
    revoked_why  TEXT COLLATE "C"
);

CREATE INDEX oauth_grants_user ON oauth_grants (user_key, client_id);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

-- A refresh token that was replaced stays for a while, so that its theft is noticed.
CREATE TABLE oauth_tokens (
    digest      bytea PRIMARY KEY,
    grant_id    TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('access', 'refresh')),
    scopes      TEXT COLLATE "C" NOT NULL,
    resources   TEXT COLLATE "C" NOT NULL,
    created_at  double precision NOT NULL,
    expires_at  double precision NOT NULL,
    replaced_at double precision
);

CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id, kind, created_at);
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);

CREATE TABLE oauth_device_codes (
    digest      bytea PRIMARY KEY,
    user_code   TEXT COLLATE "C" NOT NULL UNIQUE,
    client_id   TEXT COLLATE "C" NOT NULL,
    client_name TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C" NOT NULL,
    scopes      TEXT COLLATE "C" NOT NULL,
    resources   TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'approved', 'denied')),
    user_key    TEXT COLLATE "C",
    grant_until double precision,
    pause       bigint NOT NULL,
    polled_at   double precision,
    created_at  double precision NOT NULL,
    expires_at  double precision NOT NULL
);

CREATE INDEX oauth_device_codes_expiry ON oauth_device_codes (expires_at);
