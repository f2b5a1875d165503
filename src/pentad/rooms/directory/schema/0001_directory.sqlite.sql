-- A record never changes. What is asked of many records at once is kept apart from its text, which is only read when
-- somebody pulls it: a scan of this table must not turn over the pages of every text. A larger id is a later insertion.
CREATE TABLE directory_records (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    cid            TEXT NOT NULL UNIQUE,
    name           TEXT NOT NULL,
    version        TEXT NOT NULL,
    schema_version TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    previous_cid   TEXT,
    version_key    TEXT NOT NULL,
    created_key    REAL,
    pushed_by      TEXT NOT NULL,
    pushed_at      REAL NOT NULL,
    published_at   REAL,
    pulls          INTEGER NOT NULL DEFAULT 0,
    lookups        INTEGER NOT NULL DEFAULT 0,
    verified       INTEGER NOT NULL DEFAULT 0,
    trusted        INTEGER NOT NULL DEFAULT 0,
    scan_severity  INTEGER,
    scan_safe      INTEGER,
    description    TEXT NOT NULL
) STRICT;
CREATE INDEX directory_records_by_creation ON directory_records (created_key, id) WHERE created_key IS NOT NULL;
CREATE INDEX directory_records_popular ON directory_records (pulls + lookups, id) WHERE pulls + lookups > 0;
CREATE INDEX directory_records_published ON directory_records (id) WHERE published_at IS NOT NULL;
CREATE INDEX directory_records_by_predecessor ON directory_records (previous_cid) WHERE previous_cid IS NOT NULL;

CREATE TABLE directory_texts (
    record INTEGER PRIMARY KEY,
    data   TEXT NOT NULL
) STRICT;

-- Every distinct name, skill, locator ... of all records once, in lower case; `records` is exactly how many have it. A
-- missing number is -1 and a missing detail is empty, so that equal terms are equal rows. Texts have no useful bound
-- on their length, so they are found by `digest` (of all four) or by their first 200 characters.
CREATE TABLE directory_terms (
    id      INTEGER PRIMARY KEY,
    digest  BLOB NOT NULL UNIQUE,
    kind    INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    records INTEGER NOT NULL,
    text    TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;
CREATE INDEX directory_terms_by_text ON directory_terms (kind, substr(text, 1, 200));
CREATE INDEX directory_terms_by_number ON directory_terms (kind, number) WHERE number >= 0;

-- Which terms have which three characters in a row, for patterns that begin with `*`. A version's detail is its sort
-- key (kind 2: every record has exactly one name, one version and one schema version among its terms).
CREATE VIRTUAL TABLE directory_grams USING fts5 (
    text, detail, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);
CREATE TRIGGER directory_grams_in AFTER INSERT ON directory_terms WHEN new.kind <> 2 BEGIN
    INSERT INTO directory_grams (rowid, text, detail) VALUES (new.id, new.text, new.detail);
END;
CREATE TRIGGER directory_grams_out AFTER DELETE ON directory_terms WHEN old.kind <> 2 BEGIN
    DELETE FROM directory_grams WHERE rowid = old.id;
END;

CREATE TABLE directory_postings (
    term   INTEGER NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (term, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX directory_postings_of ON directory_postings (record);

CREATE VIRTUAL TABLE directory_words USING fts5 (
    name, description, skills, domains, modules, authors, annotations,
    content = '', contentless_delete = 1, detail = column, tokenize = 'unicode61 remove_diacritics 2'
);
-- Parts of an index are merged when there are eight of a size, not four: half the work on writing, the same on reading.
INSERT INTO directory_words (directory_words, rank) VALUES ('automerge', 8);
INSERT INTO directory_grams (directory_grams, rank) VALUES ('automerge', 8);

CREATE TABLE directory_referrers (
    cid       TEXT PRIMARY KEY,
    record    INTEGER NOT NULL REFERENCES directory_records (id) ON DELETE CASCADE,
    type      TEXT NOT NULL,
    body      TEXT NOT NULL,
    pushed_by TEXT NOT NULL,
    pushed_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX directory_referrers_of ON directory_referrers (record, type);

-- What checking a record came to: `kind` is what was checked (its signatures, who owns its name), `body` the findings.
CREATE TABLE directory_verifications (
    record     INTEGER NOT NULL REFERENCES directory_records (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    success    INTEGER NOT NULL,
    body       TEXT NOT NULL,
    checked_at REAL NOT NULL,
    PRIMARY KEY (record, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE directory_publications (
    id         TEXT PRIMARY KEY,
    request    TEXT NOT NULL,
    status     INTEGER NOT NULL,
    records    INTEGER NOT NULL DEFAULT 0,
    problem    TEXT,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE directory_syncs (
    id            TEXT PRIMARY KEY,
    directory_url TEXT NOT NULL,
    registry_url  TEXT NOT NULL,
    repository    TEXT NOT NULL,
    cids          TEXT NOT NULL,
    status        INTEGER NOT NULL,
    records       INTEGER NOT NULL DEFAULT 0,
    problem       TEXT,
    leased_until  REAL NOT NULL DEFAULT 0,
    created_by    TEXT NOT NULL,
    created_at    REAL NOT NULL,
    updated_at    REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX directory_syncs_open ON directory_syncs (leased_until) WHERE status IN (1, 2, 4);
