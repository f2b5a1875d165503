-- The records whose name has a record with a higher version, or with the same one and pushed later. All others are the
-- newest of their name, whatever its case.
CREATE TABLE directory_superseded (
    record BIGINT PRIMARY KEY REFERENCES directory_records (id) ON DELETE CASCADE
);
INSERT INTO directory_superseded (record)
SELECT record FROM (
    SELECT p.record, ROW_NUMBER() OVER (PARTITION BY p.term ORDER BY r.version_key DESC, r.id DESC) AS place
    FROM directory_terms t JOIN directory_postings p ON p.term = t.id JOIN directory_records r ON r.id = p.record
    WHERE t.kind = 1 AND t.records > 1
) AS ranked WHERE place > 1;
