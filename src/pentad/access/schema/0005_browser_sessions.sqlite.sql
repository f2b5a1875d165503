-- Logins in browsers. The cookie is stored as its SHA-256 only.
CREATE TABLE browser_sessions (
    digest     BLOB PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    user_key   TEXT NOT NULL,
    method     TEXT NOT NULL,
    browser    TEXT NOT NULL,
    address    TEXT NOT NULL,
    created_at REAL NOT NULL,
    used_at    REAL NOT NULL
) STRICT;

CREATE INDEX browser_sessions_user ON browser_sessions (user_key);

-- Links that log a user in once, as their SHA-256.
CREATE TABLE login_links (
    digest     BLOB PRIMARY KEY,
    user_key   TEXT NOT NULL,
    expires_at REAL NOT NULL
) STRICT;

-- Which user an identity provider's account is. Found by issuer and subject, never by a name or an e-mail address.
CREATE TABLE user_identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_key   TEXT NOT NULL,
    created_at REAL NOT NULL,
    used_at    REAL NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT;

CREATE INDEX user_identities_user ON user_identities (user_key);

-- Logins that are on their way to the identity provider and back. A row is used once.
CREATE TABLE provider_logins (
    digest     BLOB PRIMARY KEY,
    session    TEXT NOT NULL,
    nonce      TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    next_path  TEXT NOT NULL,
    callback   TEXT NOT NULL,
    expires_at REAL NOT NULL
) STRICT;

-- Names that removed users had. An identity provider's new account never gets one: what the user owned is still there.
CREATE TABLE removed_users (
    name_key TEXT PRIMARY KEY
) STRICT;
