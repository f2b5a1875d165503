-- Contents that are too large to travel inside a message, and contexts over the turns of a conversation.
-- A content is kept once, whoever brings it; who may read it is a row of its own.
CREATE TABLE agent_contents (
    sha256     TEXT PRIMARY KEY,
    size       INTEGER NOT NULL,
    body       BLOB NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE agent_content_owners (
    owner      TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES agent_contents (sha256),
    media_type TEXT,
    size       INTEGER NOT NULL,
    kept_at    REAL NOT NULL,
    PRIMARY KEY (owner, sha256)
) WITHOUT ROWID;
CREATE INDEX agent_content_owners_by_content ON agent_content_owners (sha256);

CREATE TABLE agent_contexts (
    owner      TEXT NOT NULL,
    context    TEXT NOT NULL,
    version    INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    body       TEXT NOT NULL REFERENCES agent_contents (sha256),
    changed_at REAL NOT NULL,
    PRIMARY KEY (owner, context, version)
) WITHOUT ROWID;
CREATE INDEX agent_contexts_by_body ON agent_contexts (body);
