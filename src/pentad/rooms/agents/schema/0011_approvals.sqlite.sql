-- What agents wait for people to approve. `step` is the place of the request in its task, so that a turn that runs again
-- finds its request. `state` is pending, approved, refused, expired or withdrawn; a pending one whose task has ended is
-- withdrawn, too.
-- `approvers` are names with spaces between them, `requester` is the person behind the task's caller.
CREATE TABLE agent_approvals (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    step TEXT NOT NULL,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    requester TEXT NOT NULL,
    organisation TEXT NOT NULL,
    what TEXT NOT NULL,
    details BLOB,
    approvers TEXT NOT NULL,
    requester_may_decide INTEGER NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    decided_at REAL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX agent_approvals_of_task ON agent_approvals (task, step);
CREATE INDEX agent_approvals_of_owner ON agent_approvals (owner, id);
CREATE INDEX agent_approvals_of_approvers ON agent_approvals (organisation, approvers, id);
