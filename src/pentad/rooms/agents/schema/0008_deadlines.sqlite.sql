-- When the caller wants the task to be over. Deadlines of agents are in their jobs.
ALTER TABLE agent_tasks ADD COLUMN deadline REAL;
