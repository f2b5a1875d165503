-- The records whose name has a newer one; those in quarantine are compared among themselves. A record that can be used is
-- newer than one that waits for approval, and that is newer than a withdrawn one. Then the version counts, then the push.
DELETE FROM directory_superseded;
INSERT INTO directory_superseded (record)
SELECT record FROM (
    SELECT p.record, ROW_NUMBER() OVER (
        PARTITION BY p.term, CASE WHEN q.record IS NULL THEN 0 ELSE 1 END
        ORDER BY CASE r.state WHEN 'approved' THEN 2 WHEN 'deprecated' THEN 2 WHEN 'withdrawn' THEN 0 ELSE 1 END DESC,
            r.version_key DESC, r.id DESC
    ) AS place
    FROM directory_terms t JOIN directory_postings p ON p.term = t.id JOIN directory_records r ON r.id = p.record
    LEFT JOIN directory_quarantine q ON q.record = r.id
    WHERE t.kind = 1 AND t.records > 1
) AS ranked WHERE place > 1;

-- Lists of what has changed are in the order of time.
DROP INDEX directory_servers_updated;
CREATE INDEX directory_servers_updated ON directory_servers (updated_at, record) WHERE is_current = 1;
