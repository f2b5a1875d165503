-- One row per job that is not done. `key` deduplicates within a name. `lease` grows with every claim, so (id, lease) is
-- a fencing token. `attempt` counts tries in a row. `again_at` says that the job was enqueued while it ran.
CREATE TABLE jobs (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C",
    payload TEXT COLLATE "C" NOT NULL DEFAULT 'null',
    state TEXT COLLATE "C" NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'dead')),
    run_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    again_at DOUBLE PRECISION,
    attempt BIGINT NOT NULL DEFAULT 0,
    lease BIGINT NOT NULL DEFAULT 0,
    worker TEXT COLLATE "C",
    error TEXT COLLATE "C",
    created_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    updated_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    UNIQUE (name, key)
);
CREATE INDEX jobs_queued ON jobs (name, run_at) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (worker) WHERE state = 'running';
CREATE INDEX jobs_dead ON jobs (updated_at) WHERE state = 'dead';

-- One row per process that holds leases, renewed every two seconds by the store's clock.
CREATE TABLE job_workers (
    id TEXT COLLATE "C" PRIMARY KEY,
    beat_at DOUBLE PRECISION NOT NULL
);
