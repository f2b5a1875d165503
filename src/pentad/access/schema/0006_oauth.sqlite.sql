-- Programs that ask for access: registered here, or described by a document at the URL that is their id.
CREATE TABLE oauth_clients (
    id          TEXT PRIMARY KEY,
    metadata    TEXT NOT NULL,
    secret      BLOB,
    host        TEXT NOT NULL,
    address     TEXT NOT NULL,
    created_at  REAL NOT NULL,
    fresh_until REAL,
    used_at     REAL
) STRICT;

CREATE INDEX oauth_clients_unused ON oauth_clients (address, host, created_at);

-- A code that was redeemed names its grant, so that a second use ends it.
CREATE TABLE oauth_codes (
    digest       BLOB PRIMARY KEY,
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    user_key     TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge    TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    resources    TEXT NOT NULL,
    expires_at   REAL NOT NULL,
    grant_until  REAL NOT NULL,
    grant_id     TEXT
) STRICT;

CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

-- One consent of a user for one client. Tokens belong to it and end with it.
CREATE TABLE oauth_grants (
    id           TEXT PRIMARY KEY,
    user_key     TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    resources    TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    created_at   REAL NOT NULL,
    expires_at   REAL NOT NULL,
    last_used_at REAL,
    revoked_at   REAL,
    revoked_why  TEXT
) STRICT;

CREATE INDEX oauth_grants_user ON oauth_grants (user_key, client_id);
CREATE INDEX oauth_grants_client ON oauth_grants (client_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

-- A refresh token that was replaced stays for a while, so that its theft is noticed.
CREATE TABLE oauth_tokens (
    digest      BLOB PRIMARY KEY,
    grant_id    TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
    scopes      TEXT NOT NULL,
    resources   TEXT NOT NULL,
    created_at  REAL NOT NULL,
    expires_at  REAL NOT NULL,
    replaced_at REAL
) STRICT;

CREATE INDEX oauth_tokens_grant ON oauth_tokens (grant_id, kind, created_at);
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);

CREATE TABLE oauth_device_codes (
    digest      BLOB PRIMARY KEY,
    user_code   TEXT NOT NULL UNIQUE,
    client_id   TEXT NOT NULL,
    client_name TEXT NOT NULL,
    address     TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    resources   TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'denied')),
    user_key    TEXT,
    grant_until REAL,
    pause       INTEGER NOT NULL,
    polled_at   REAL,
    created_at  REAL NOT NULL,
    expires_at  REAL NOT NULL
) STRICT;

CREATE INDEX oauth_device_codes_expiry ON oauth_device_codes (expires_at);
