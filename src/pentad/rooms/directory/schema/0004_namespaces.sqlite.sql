-- Rules for names by their beginning, in whole segments; the most specific one holds, and the empty one holds for all.
-- `immutable`: a name and version, once pushed, always has the same content. A store that had records before keeps
-- taking others under the same version.
CREATE TABLE directory_namespaces (
    namespace TEXT PRIMARY KEY,
    immutable INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO directory_namespaces (namespace, immutable)
    SELECT '', CASE WHEN EXISTS (SELECT 1 FROM directory_records) THEN 0 ELSE 1 END;
