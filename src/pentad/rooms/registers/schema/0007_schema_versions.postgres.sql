-- The version of the schema that an object was written with; null for objects written before there was this column.
ALTER TABLE objects ADD COLUMN schema_version TEXT COLLATE "C";

-- Schemas whose indexes are being made or dropped. A row that a crash leaves is worked off when the room opens.
CREATE TABLE index_builds (
    schema BIGINT PRIMARY KEY
);
