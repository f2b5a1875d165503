-- What agents wait for people to approve. `step` is the place of the request in its task, so that a turn that runs again
-- finds its request. `state` is pending, approved, refused, expired or withdrawn; a pending one whose task has ended is
-- withdrawn, too.
-- `approvers` are names with spaces between them, `requester` is the person behind the task's caller.
CREATE TABLE agent_approvals (
    id TEXT COLLATE "C" PRIMARY KEY,
    task TEXT COLLATE "C" NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    requester TEXT COLLATE "C" NOT NULL,
    organisation TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    details BYTEA,
    approvers TEXT COLLATE "C" NOT NULL,
    requester_may_decide SMALLINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    decided_by TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    decided_at DOUBLE PRECISION,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
);
CREATE UNIQUE INDEX agent_approvals_of_task ON agent_approvals (task, step);
CREATE INDEX agent_approvals_of_owner ON agent_approvals (owner, id);
CREATE INDEX agent_approvals_of_approvers ON agent_approvals (organisation, approvers, id);
