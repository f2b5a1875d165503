-- The rooms that carrying out a rule needs, as a JSON array: those whose events may fit, and the one of its action.
ALTER TABLE event_rules ADD COLUMN needs TEXT NOT NULL DEFAULT '[]';
