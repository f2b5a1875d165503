-- Tasks that agents start: `parent` is the task that started this one, `parent_step` the place of the call in its journal.
-- `trace` is the W3C trace context the task was started with. `children` counts what this task started.
ALTER TABLE agent_tasks ADD COLUMN parent TEXT COLLATE "C";
ALTER TABLE agent_tasks ADD COLUMN parent_step TEXT COLLATE "C";
ALTER TABLE agent_tasks ADD COLUMN trace TEXT COLLATE "C";
ALTER TABLE agent_tasks ADD COLUMN children BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX agent_tasks_of_parent ON agent_tasks (parent, parent_step) WHERE parent IS NOT NULL;

-- What each turn has used, in absolute numbers: a turn that is replayed counts again and overwrites its row.
CREATE TABLE agent_usage (
    task TEXT COLLATE "C" NOT NULL,
    turn BIGINT NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    calls BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (task, turn)
);
CREATE INDEX agent_usage_of_owner ON agent_usage (owner, at);
