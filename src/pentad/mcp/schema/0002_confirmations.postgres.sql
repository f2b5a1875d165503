-- Open confirmations of calls: the hash of a token, and what it is bound to (its kind, and a digest of caller, tool and
-- arguments).
CREATE TABLE mcp_confirmations (
    token      TEXT COLLATE "C" PRIMARY KEY,
    binding    TEXT COLLATE "C" NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX mcp_confirmations_by_expiry ON mcp_confirmations (expires_at);
