-- The version of the schema that an object was written with; null for objects written before there was this column.
ALTER TABLE objects ADD COLUMN schema_version TEXT;

-- Schemas whose indexes are being made or dropped. A row that a crash leaves is worked off when the room opens.
CREATE TABLE index_builds (
    schema INTEGER PRIMARY KEY
) STRICT;
