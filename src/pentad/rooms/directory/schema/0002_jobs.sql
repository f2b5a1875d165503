-- Publications and syncs are jobs: what was open goes on.
INSERT INTO jobs (name, key) SELECT 'directory.publish', id FROM directory_publications WHERE status IN (1, 2);
INSERT INTO jobs (name, key)
    SELECT 'directory.sync', id FROM directory_syncs WHERE status IN (1, 2, 4) AND directory_url <> '';
DROP INDEX directory_syncs_open;
ALTER TABLE directory_syncs DROP COLUMN leased_until;
