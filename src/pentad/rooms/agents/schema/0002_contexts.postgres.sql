-- Contents that are too large to travel inside a message, and contexts over the turns of a conversation.
-- A content is kept once, whoever brings it; who may read it is a row of its own.
CREATE TABLE agent_contents (
    sha256     TEXT COLLATE "C" PRIMARY KEY,
    size       BIGINT NOT NULL,
    body       BYTEA NOT NULL,
    created_at DOUBLE PRECISION NOT NULL
);

CREATE TABLE agent_content_owners (
    owner      TEXT COLLATE "C" NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL REFERENCES agent_contents (sha256),
    media_type TEXT COLLATE "C",
    size       BIGINT NOT NULL,
    kept_at    DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner, sha256)
);
CREATE INDEX agent_content_owners_by_content ON agent_content_owners (sha256);

CREATE TABLE agent_contexts (
    owner      TEXT COLLATE "C" NOT NULL,
    context    TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL REFERENCES agent_contents (sha256),
    changed_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner, context, version)
);
CREATE INDEX agent_contexts_by_body ON agent_contexts (body);
