-- The rooms that a process must have open to run the job, as ';agents;;registers;'.
ALTER TABLE jobs ADD COLUMN needs TEXT NOT NULL DEFAULT '';
