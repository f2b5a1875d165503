-- Sessions of the legacy era: any process serves any of them.
CREATE TABLE mcp_sessions (
    id         TEXT COLLATE "C" PRIMARY KEY,
    principal  TEXT COLLATE "C" NOT NULL,
    endpoint   TEXT COLLATE "C" NOT NULL,
    revision   TEXT COLLATE "C" NOT NULL,
    client     TEXT COLLATE "C" NOT NULL,
    log_level  TEXT COLLATE "C",
    created_at DOUBLE PRECISION NOT NULL,
    touched_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX mcp_sessions_by_principal ON mcp_sessions (principal, touched_at);
CREATE INDEX mcp_sessions_by_touch ON mcp_sessions (touched_at);

CREATE TABLE mcp_subscriptions (
    session TEXT COLLATE "C" NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    uri     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session, uri)
);

-- What was sent on a stream, so that a client can go on where it was cut off.
CREATE TABLE mcp_stream_events (
    stream  TEXT COLLATE "C" NOT NULL,
    seq     BIGINT NOT NULL,
    session TEXT COLLATE "C" NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    body    BYTEA NOT NULL,
    last    INTEGER NOT NULL,
    sent_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (stream, seq)
);
CREATE INDEX mcp_stream_events_by_session ON mcp_stream_events (session);
CREATE INDEX mcp_stream_events_by_time ON mcp_stream_events (sent_at);

-- A client's answer to a question, left for the process that asked it.
CREATE TABLE mcp_replies (
    session  TEXT COLLATE "C" NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    question TEXT COLLATE "C" NOT NULL,
    body     BYTEA NOT NULL,
    PRIMARY KEY (session, question)
);
