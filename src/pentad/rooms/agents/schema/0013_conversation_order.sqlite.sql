-- The place of a task in its conversation, in the order of creation: several tasks can begin in one millisecond.
ALTER TABLE agent_tasks ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE agent_tasks SET number = ranked.place
    FROM (SELECT id, row_number() OVER (PARTITION BY context, owner ORDER BY created_at, id) AS place FROM agent_tasks) AS ranked
    WHERE ranked.id = agent_tasks.id;
DROP INDEX agent_tasks_of_context;
CREATE INDEX agent_tasks_of_context ON agent_tasks (context, owner, number);
