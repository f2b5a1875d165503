-- Open confirmations of destructive calls: the hash of a token, and what it is bound to (caller, tool, arguments).
CREATE TABLE mcp_confirmations (
    token      TEXT PRIMARY KEY,
    binding    TEXT NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_confirmations_by_expiry ON mcp_confirmations (expires_at);
