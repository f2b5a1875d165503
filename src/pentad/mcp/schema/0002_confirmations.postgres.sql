-- Open confirmations of destructive calls: the hash of a token, and what it is bound to (caller, tool, arguments).
CREATE TABLE mcp_confirmations (
    token      TEXT COLLATE "C" PRIMARY KEY,
    binding    TEXT COLLATE "C" NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX mcp_confirmations_by_expiry ON mcp_confirmations (expires_at);
