-- Open confirmations of calls: the hash of a token, and what it is bound to (its kind, and a digest of caller, tool and
-- arguments).
CREATE TABLE mcp_confirmations (
    token      TEXT PRIMARY KEY,
    binding    TEXT NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_confirmations_by_expiry ON mcp_confirmations (expires_at);
