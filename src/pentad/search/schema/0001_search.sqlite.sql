-- A dropped collection has no name any more; its rows are cleared away in small steps afterwards.
CREATE TABLE search_collections (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT UNIQUE,
    token         TEXT NOT NULL,
    version       INTEGER NOT NULL,
    next_document INTEGER NOT NULL,
    next_segment  INTEGER NOT NULL,
    documents     INTEGER NOT NULL,
    vectors       INTEGER NOT NULL,
    model         TEXT,
    dimensions    INTEGER
) STRICT;

CREATE TABLE search_fields (
    collection   INTEGER NOT NULL,
    field        TEXT NOT NULL,
    total_length INTEGER NOT NULL,
    PRIMARY KEY (collection, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_documents (
    collection INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    document   INTEGER NOT NULL,
    lengths    TEXT NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_segments (
    collection     INTEGER NOT NULL,
    segment        INTEGER NOT NULL,
    first_document INTEGER NOT NULL,
    documents      INTEGER NOT NULL,
    ids            BLOB NOT NULL,
    PRIMARY KEY (collection, segment)
) STRICT;

CREATE TABLE search_postings (
    collection INTEGER NOT NULL,
    segment    INTEGER NOT NULL,
    term       TEXT NOT NULL,
    field      TEXT NOT NULL,
    postings   BLOB NOT NULL,
    PRIMARY KEY (collection, segment, term, field)
) STRICT, WITHOUT ROWID;

-- How long a field is in each document of a segment.
CREATE TABLE search_lengths (
    collection INTEGER NOT NULL,
    segment    INTEGER NOT NULL,
    field      TEXT NOT NULL,
    lengths    BLOB NOT NULL,
    PRIMARY KEY (collection, segment, field)
) STRICT;

CREATE TABLE search_removed (
    collection INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    document   INTEGER NOT NULL,
    PRIMARY KEY (collection, version, document)
) STRICT, WITHOUT ROWID;

-- All vectors of a document in one row: the file they are searched in is made from these.
CREATE TABLE search_vectors (
    collection INTEGER NOT NULL,
    document   INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    embedding  BLOB NOT NULL,
    PRIMARY KEY (collection, document)
) STRICT;

CREATE INDEX search_vectors_by_version ON search_vectors (collection, version, document);

-- Texts that wait for their vectors.
CREATE TABLE search_pending (
    collection INTEGER NOT NULL,
    document   INTEGER NOT NULL,
    windows    TEXT NOT NULL,
    PRIMARY KEY (collection, document)
) STRICT;
