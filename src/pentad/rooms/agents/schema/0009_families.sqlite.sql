-- Tasks that agents start: `parent` is the task that started this one, `parent_step` the place of the call in its journal.
-- `trace` is the W3C trace context the task was started with. `children` counts what this task started.
ALTER TABLE agent_tasks ADD COLUMN parent TEXT;
ALTER TABLE agent_tasks ADD COLUMN parent_step TEXT;
ALTER TABLE agent_tasks ADD COLUMN trace TEXT;
ALTER TABLE agent_tasks ADD COLUMN children INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX agent_tasks_of_parent ON agent_tasks (parent, parent_step) WHERE parent IS NOT NULL;

-- What each turn has used, in absolute numbers: a turn that is replayed counts again and overwrites its row.
CREATE TABLE agent_usage (
    task TEXT NOT NULL,
    turn INTEGER NOT NULL,
    owner TEXT NOT NULL,
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (task, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_usage_of_owner ON agent_usage (owner, at);
