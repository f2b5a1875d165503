-- Logins in browsers. The cookie is stored as its SHA-256 only.
CREATE TABLE browser_sessions (
    digest     bytea PRIMARY KEY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    user_key   TEXT COLLATE "C" NOT NULL,
    method     TEXT COLLATE "C" NOT NULL,
    browser    TEXT COLLATE "C" NOT NULL,
    address    TEXT COLLATE "C" NOT NULL,
    created_at double precision NOT NULL,
    used_at    double precision NOT NULL
);

CREATE INDEX browser_sessions_user ON browser_sessions (user_key);

-- Links that log a user in once, as their SHA-256.
CREATE TABLE login_links (
    digest     bytea PRIMARY KEY,
    user_key   TEXT COLLATE "C" NOT NULL,
    expires_at double precision NOT NULL
);

-- Which user an identity provider's account is. Found by issuer and subject, never by a name or an e-mail address.
CREATE TABLE user_identities (
    issuer     TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    user_key   TEXT COLLATE "C" NOT NULL,
    created_at double precision NOT NULL,
    used_at    double precision NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX user_identities_user ON user_identities (user_key);

-- Logins that are on their way to the identity provider and back. A row is used once.
CREATE TABLE provider_logins (
    digest     bytea PRIMARY KEY,
    session    TEXT COLLATE "C" NOT NULL,
    nonce      TEXT COLLATE "C" NOT NULL,
    verifier   TEXT COLLATE "C" NOT NULL,
    next_path  TEXT COLLATE "C" NOT NULL,
    callback   TEXT COLLATE "C" NOT NULL,
    expires_at double precision NOT NULL
);

-- Names that removed users had. An identity provider's new account never gets one: what the user owned is still there.
CREATE TABLE removed_users (
    name_key TEXT COLLATE "C" PRIMARY KEY
);
