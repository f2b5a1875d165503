-- One row a task: what lists, leases and limits ask for. The content is in the events; a task is their fold.
-- `turn` is the event that began the run under way, `holder` the process that runs it (NULL: nobody has to).
-- `messages` and `bytes` count what the events hold, so that limits cost no reading.
CREATE TABLE agent_tasks (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    context TEXT COLLATE "C" NOT NULL,
    dialect TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    pushes BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    metadata BYTEA,
    caller BYTEA,
    holder TEXT COLLATE "C",
    leased_until DOUBLE PRECISION NOT NULL
);
CREATE INDEX agent_tasks_of_owner ON agent_tasks (owner, updated_at, id);
CREATE INDEX agent_tasks_of_context ON agent_tasks (context);
CREATE INDEX agent_tasks_held ON agent_tasks (leased_until) WHERE holder IS NOT NULL;
CREATE INDEX agent_tasks_open ON agent_tasks (owner)
    WHERE state IN ('submitted', 'working', 'input-required', 'auth-required');

-- The log: written once, never changed. `body` is JSON.
CREATE TABLE agent_events (
    task TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (task, seq)
);

-- Where to tell somebody about a task. `told` is the last event delivered; `due_at` is NULL while nothing waits.
CREATE TABLE agent_pushes (
    task TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    config BYTEA NOT NULL,
    told BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    due_at DOUBLE PRECISION,
    leased_until DOUBLE PRECISION NOT NULL,
    problem TEXT COLLATE "C",
    created_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (task, id)
);
CREATE INDEX agent_pushes_due ON agent_pushes (due_at) WHERE due_at IS NOT NULL;
