-- Tasks of mounted agents: where each is done (`url`), its id and its conversation there, and the last message that was
-- passed on. `is_open` is 0 once it has ended there.
CREATE TABLE agent_forwarded_tasks (
    task TEXT COLLATE "C" PRIMARY KEY,
    url TEXT COLLATE "C" NOT NULL,
    remote_task TEXT COLLATE "C" NOT NULL,
    remote_context TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    is_open SMALLINT NOT NULL
);
CREATE INDEX agent_forwarded_tasks_open ON agent_forwarded_tasks (task) WHERE is_open = 1;
