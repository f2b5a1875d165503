-- Contents lent to agents elsewhere: whoever has the token, which is kept as its hash, reads one content until then.
CREATE TABLE agent_lent_contents (
    token      TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES agent_contents (sha256),
    media_type TEXT,
    size       INTEGER NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_lent_contents_by_content ON agent_lent_contents (sha256);
CREATE INDEX agent_lent_contents_of_owner ON agent_lent_contents (owner);
CREATE INDEX agent_lent_contents_by_end ON agent_lent_contents (expires_at);

-- Calls that go on as tasks of agents elsewhere: under which id here, whose, and which task there.
CREATE TABLE agent_tasks_elsewhere (
    id         TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    agent      TEXT NOT NULL,
    task       TEXT NOT NULL,
    budget     INTEGER NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_tasks_elsewhere_by_end ON agent_tasks_elsewhere (expires_at);
