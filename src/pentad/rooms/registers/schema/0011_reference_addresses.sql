-- Older versions stored references as they came, also as addresses, which queries do not follow. Schemas with 0 here
-- have objects to look at.
ALTER TABLE schemas ADD COLUMN uuid_references INTEGER NOT NULL DEFAULT 1;
UPDATE schemas SET uuid_references = 0;
