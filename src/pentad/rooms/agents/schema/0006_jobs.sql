-- Turns under way and push notifications are jobs. What was under way is taken over, what was due is told; addresses
-- that were given up are dead letters, those that were stopped (due at 2^62) stay stopped and keep their reason.
INSERT INTO jobs (name, key) SELECT 'agents.turn', id FROM agent_tasks WHERE holder IS NOT NULL;
INSERT INTO jobs (name, key, run_at, attempt, error)
    SELECT 'agents.push', task || ' ' || id, due_at, attempt, problem FROM agent_pushes
    WHERE due_at < 4611686018427387904;
INSERT INTO jobs (name, key, state, attempt, error)
    SELECT 'agents.push', task || ' ' || id, 'dead', attempt, problem FROM agent_pushes
    WHERE due_at IS NULL AND problem IS NOT NULL;
UPDATE agent_pushes SET problem = NULL WHERE due_at IS NULL OR due_at < 4611686018427387904;
DROP INDEX agent_pushes_due;
ALTER TABLE agent_pushes DROP COLUMN due_at;
ALTER TABLE agent_pushes DROP COLUMN leased_until;
ALTER TABLE agent_pushes DROP COLUMN attempt;
DROP INDEX agent_tasks_held;
ALTER TABLE agent_tasks DROP COLUMN leased_until;
