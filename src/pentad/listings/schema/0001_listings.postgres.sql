-- What is hosted, and by which process (`worker`, as in `jobs`); an empty worker means that the store itself has it, such
-- as a registered card. `body` is the listing, `revision` its hash.
CREATE TABLE listings (
    key        TEXT COLLATE "C" NOT NULL,
    worker     TEXT COLLATE "C" NOT NULL,
    revision   TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL,
    changed_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (key, worker)
);
CREATE INDEX listings_of ON listings (worker);

-- The keys that the directory has not caught up with. `mark` changes with every change, so that one that comes while the
-- directory works is not lost.
CREATE TABLE listing_changes (
    key  TEXT COLLATE "C" PRIMARY KEY,
    mark TEXT COLLATE "C" NOT NULL
);
