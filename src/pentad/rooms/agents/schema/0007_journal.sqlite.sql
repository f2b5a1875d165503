-- The journal of a turn: its durable calls in the order they began. A row without `ended_at` has begun only.
-- `turn` is the event that began the turn, `due_at` the time a sleep or a wait ends. `result` and `error` are JSON.
CREATE TABLE agent_steps (
    task_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    result BLOB,
    error BLOB,
    due_at REAL,
    at REAL NOT NULL,
    ended_at REAL,
    PRIMARY KEY (task_id, turn, number)
) STRICT, WITHOUT ROWID;

-- `suspended`: the turn is not over, but no process has to run it until a message or its time comes.
-- `code`: the version of the agent's code that the turn is pinned to.
ALTER TABLE agent_tasks ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_tasks ADD COLUMN code TEXT;
