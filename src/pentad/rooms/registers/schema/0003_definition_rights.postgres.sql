-- Registers and schemas belong to organisations: a slug is unique within one, and names nothing in another.
ALTER TABLE registers ADD COLUMN organisation TEXT COLLATE "C" NOT NULL DEFAULT 'default';
UPDATE registers SET organisation = coalesce(body::jsonb ->> 'organisation', 'default');
DROP INDEX registers_by_slug;
CREATE UNIQUE INDEX registers_by_slug ON registers (lower(slug), organisation);

ALTER TABLE schemas ADD COLUMN organisation TEXT COLLATE "C" NOT NULL DEFAULT 'default';
UPDATE schemas SET organisation = coalesce(body::jsonb ->> 'organisation', 'default');
DROP INDEX schemas_by_slug;
CREATE UNIQUE INDEX schemas_by_slug ON schemas (lower(slug), organisation);

-- The word index once had the texts of properties made from protected ones. Schemas with 0 here have to be looked at.
ALTER TABLE schemas ADD COLUMN words BIGINT NOT NULL DEFAULT 0;
