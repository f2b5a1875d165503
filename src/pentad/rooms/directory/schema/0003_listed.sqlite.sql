-- The records that the server makes itself, of what it hosts. `cid` is the record, empty while it is withdrawn: a listing
-- that comes back unchanged gets the record it had, with the same date.
CREATE TABLE directory_listed (
    key        TEXT PRIMARY KEY,
    revision   TEXT NOT NULL,
    cid        TEXT NOT NULL,
    created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX directory_listed_as ON directory_listed (cid);
