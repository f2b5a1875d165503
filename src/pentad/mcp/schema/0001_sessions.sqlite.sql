-- Sessions of the legacy era: any process serves any of them.
CREATE TABLE mcp_sessions (
    id         TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    endpoint   TEXT NOT NULL,
    revision   TEXT NOT NULL,
    client     TEXT NOT NULL,
    log_level  TEXT,
    created_at REAL NOT NULL,
    touched_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_sessions_by_principal ON mcp_sessions (principal, touched_at);
CREATE INDEX mcp_sessions_by_touch ON mcp_sessions (touched_at);

CREATE TABLE mcp_subscriptions (
    session TEXT NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    uri     TEXT NOT NULL,
    PRIMARY KEY (session, uri)
) STRICT, WITHOUT ROWID;

-- What was sent on a stream, so that a client can go on where it was cut off.
CREATE TABLE mcp_stream_events (
    stream  TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    session TEXT NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    body    BLOB NOT NULL,
    last    INTEGER NOT NULL,
    sent_at REAL NOT NULL,
    PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_stream_events_by_session ON mcp_stream_events (session);
CREATE INDEX mcp_stream_events_by_time ON mcp_stream_events (sent_at);

-- A client's answer to a question, left for the process that asked it.
CREATE TABLE mcp_replies (
    session  TEXT NOT NULL REFERENCES mcp_sessions (id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (session, question)
) STRICT, WITHOUT ROWID;
