-- The records that the server makes itself, of what it hosts. `cid` is the record, empty while it is withdrawn: a listing
-- that comes back unchanged gets the record it had, with the same date.
CREATE TABLE directory_listed (
    key        TEXT COLLATE "C" PRIMARY KEY,
    revision   TEXT COLLATE "C" NOT NULL,
    cid        TEXT COLLATE "C" NOT NULL,
    created_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX directory_listed_as ON directory_listed (cid);
