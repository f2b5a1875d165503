-- Read rules of properties that a schema no longer has: the past still contains their values.
ALTER TABLE schemas ADD COLUMN past_rules TEXT COLLATE "C" NOT NULL DEFAULT '{}';
