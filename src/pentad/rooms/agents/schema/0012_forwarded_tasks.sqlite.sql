-- Tasks of mounted agents: where each is done (`url`), its id and its conversation there, and the last message that was
-- passed on. `is_open` is 0 once it has ended there.
CREATE TABLE agent_forwarded_tasks (
    task TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    remote_task TEXT NOT NULL,
    remote_context TEXT NOT NULL,
    message TEXT NOT NULL,
    is_open INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_forwarded_tasks_open ON agent_forwarded_tasks (task) WHERE is_open = 1;
