-- One row per job that is not done. `key` deduplicates within a name. `lease` grows with every claim, so (id, lease) is
-- a fencing token. `attempt` counts tries in a row. `again_at` says that the job was enqueued while it ran.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    key TEXT,
    payload TEXT NOT NULL DEFAULT 'null',
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'dead')),
    run_at REAL NOT NULL DEFAULT 0,
    again_at REAL,
    attempt INTEGER NOT NULL DEFAULT 0,
    lease INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    error TEXT,
    created_at REAL NOT NULL DEFAULT 0,
    updated_at REAL NOT NULL DEFAULT 0,
    UNIQUE (name, key)
) STRICT;
CREATE INDEX jobs_queued ON jobs (name, run_at) WHERE state = 'queued';
CREATE INDEX jobs_running ON jobs (worker) WHERE state = 'running';
CREATE INDEX jobs_dead ON jobs (updated_at) WHERE state = 'dead';

-- One row per process that holds leases, renewed every two seconds by the store's clock.
CREATE TABLE job_workers (
    id TEXT PRIMARY KEY,
    beat_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
