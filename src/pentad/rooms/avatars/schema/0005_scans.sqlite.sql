-- Pages whose text was recognized: how sure that is, and a picture of the page for whoever checks a citation.
CREATE TABLE avatar_scans (
    document   INTEGER NOT NULL REFERENCES avatar_documents (id) ON DELETE CASCADE,
    page       INTEGER NOT NULL,
    confidence REAL NOT NULL,
    picture    BLOB NOT NULL,
    PRIMARY KEY (document, page)
) STRICT;
