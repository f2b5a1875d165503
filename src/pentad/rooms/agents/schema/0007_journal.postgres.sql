-- The journal of a turn: its durable calls in the order they began. A row without `ended_at` has begun only.
-- `turn` is the event that began the turn, `due_at` the time a sleep or a wait ends. `result` and `error` are JSON.
CREATE TABLE agent_steps (
    task_id TEXT COLLATE "C" NOT NULL,
    turn BIGINT NOT NULL,
    number BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    result BYTEA,
    error BYTEA,
    due_at DOUBLE PRECISION,
    at DOUBLE PRECISION NOT NULL,
    ended_at DOUBLE PRECISION,
    PRIMARY KEY (task_id, turn, number)
);

-- `suspended`: the turn is not over, but no process has to run it until a message or its time comes.
-- `code`: the version of the agent's code that the turn is pinned to.
ALTER TABLE agent_tasks ADD COLUMN suspended BIGINT NOT NULL DEFAULT 0;
ALTER TABLE agent_tasks ADD COLUMN code TEXT COLLATE "C";
