-- How often a view was changed, so that nobody overwrites a change they have not seen.
ALTER TABLE views ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
