-- What is hosted, and by which process (`worker`, as in `jobs`); an empty worker means that the store itself has it, such
-- as a registered card. `body` is the listing, `revision` its hash.
CREATE TABLE listings (
    key        TEXT NOT NULL,
    worker     TEXT NOT NULL,
    revision   TEXT NOT NULL,
    body       TEXT NOT NULL,
    changed_at REAL NOT NULL,
    PRIMARY KEY (key, worker)
) STRICT, WITHOUT ROWID;
CREATE INDEX listings_of ON listings (worker);

-- The keys that the directory has not caught up with. `mark` changes with every change, so that one that comes while the
-- directory works is not lost.
CREATE TABLE listing_changes (
    key  TEXT PRIMARY KEY,
    mark TEXT NOT NULL
) STRICT, WITHOUT ROWID;
