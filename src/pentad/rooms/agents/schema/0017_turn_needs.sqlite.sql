-- The rooms that a suspended turn needs: those of the process that began it, with spaces between them.
ALTER TABLE agent_tasks ADD COLUMN needs TEXT NOT NULL DEFAULT '';
