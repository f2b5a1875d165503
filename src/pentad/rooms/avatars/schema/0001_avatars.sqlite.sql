-- An avatar counts its own passages: a number is never given twice, so an old citation never meets another text.
-- `collection` names where the shared search keeps them; it changes only when all of them are indexed anew.
CREATE TABLE avatars (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    config       TEXT NOT NULL,
    sources      TEXT,
    generation   INTEGER NOT NULL,
    collection   TEXT NOT NULL,
    next_passage INTEGER NOT NULL,
    documents    INTEGER NOT NULL,
    passages     INTEGER NOT NULL,
    characters   INTEGER NOT NULL,
    tokens       INTEGER NOT NULL,
    calibration  TEXT,
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL
) STRICT;

CREATE TABLE avatar_documents (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    avatar      INTEGER NOT NULL REFERENCES avatars (number) ON DELETE CASCADE,
    path        TEXT NOT NULL,
    origin      TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    title       TEXT NOT NULL,
    type        TEXT,
    year        INTEGER,
    role        TEXT NOT NULL,
    details     TEXT NOT NULL,
    format      TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    pipeline    TEXT NOT NULL,
    bytes       INTEGER NOT NULL,
    pages       INTEGER,
    characters  INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,
    passages    INTEGER NOT NULL,
    notes       TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    ingested_at REAL NOT NULL,
    UNIQUE (avatar, path)
) STRICT;

-- What the character ranges of passages and citations point into.
CREATE TABLE avatar_texts (
    document INTEGER PRIMARY KEY REFERENCES avatar_documents (id) ON DELETE CASCADE,
    text     TEXT NOT NULL
) STRICT;

-- `sentences` are character ranges within the content: start and end of each, in order.
CREATE TABLE avatar_passages (
    avatar        INTEGER NOT NULL REFERENCES avatars (number) ON DELETE CASCADE,
    id            INTEGER NOT NULL,
    document      INTEGER NOT NULL REFERENCES avatar_documents (id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,
    content       TEXT NOT NULL,
    char_start    INTEGER NOT NULL,
    char_end      INTEGER NOT NULL,
    page_start    INTEGER,
    page_end      INTEGER,
    printed_start TEXT,
    printed_end   TEXT,
    section       TEXT,
    tokens        INTEGER NOT NULL,
    sha256        TEXT NOT NULL,
    sentences     TEXT NOT NULL,
    PRIMARY KEY (avatar, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX avatar_passages_of_document ON avatar_passages (document, position);
