-- The tasks that wait for an answer, for the home page: few, however many tasks there are.
CREATE INDEX agent_tasks_waiting ON agent_tasks (owner, updated_at, id) WHERE state = 'input-required';
