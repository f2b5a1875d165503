-- Contents lent to agents elsewhere: whoever has the token, which is kept as its hash, reads one content until then.
CREATE TABLE agent_lent_contents (
    token      TEXT COLLATE "C" PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL REFERENCES agent_contents (sha256),
    media_type TEXT COLLATE "C",
    size       BIGINT NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX agent_lent_contents_by_content ON agent_lent_contents (sha256);
CREATE INDEX agent_lent_contents_of_owner ON agent_lent_contents (owner);
CREATE INDEX agent_lent_contents_by_end ON agent_lent_contents (expires_at);

-- Calls that go on as tasks of agents elsewhere: under which id here, whose, and which task there.
CREATE TABLE agent_tasks_elsewhere (
    id         TEXT COLLATE "C" PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    task       TEXT COLLATE "C" NOT NULL,
    budget     BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX agent_tasks_elsewhere_by_end ON agent_tasks_elsewhere (expires_at);
