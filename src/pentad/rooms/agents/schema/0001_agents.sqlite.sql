-- One row a task: what lists, leases and limits ask for. The content is in the events; a task is their fold.
-- `turn` is the event that began the run under way, `holder` the process that runs it (NULL: nobody has to).
-- `messages` and `bytes` count what the events hold, so that limits cost no reading.
CREATE TABLE agent_tasks (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    context TEXT NOT NULL,
    dialect TEXT NOT NULL,
    state TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    pushes INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    metadata BLOB,
    caller BLOB,
    holder TEXT,
    leased_until REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_tasks_of_owner ON agent_tasks (owner, updated_at, id);
CREATE INDEX agent_tasks_of_context ON agent_tasks (context);
CREATE INDEX agent_tasks_held ON agent_tasks (leased_until) WHERE holder IS NOT NULL;
CREATE INDEX agent_tasks_open ON agent_tasks (owner)
    WHERE state IN ('submitted', 'working', 'input-required', 'auth-required');

-- The log: written once, never changed. `body` is JSON.
CREATE TABLE agent_events (
    task TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

-- Where to tell somebody about a task. `told` is the last event delivered; `due_at` is NULL while nothing waits.
CREATE TABLE agent_pushes (
    task TEXT NOT NULL,
    id TEXT NOT NULL,
    config BLOB NOT NULL,
    told INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    due_at REAL,
    leased_until REAL NOT NULL,
    problem TEXT,
    created_at REAL NOT NULL,
    PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_pushes_due ON agent_pushes (due_at) WHERE due_at IS NOT NULL;
