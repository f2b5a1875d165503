-- Pages whose text was recognized: how sure that is, and a picture of the page for whoever checks a citation.
CREATE TABLE avatar_scans (
    document   BIGINT NOT NULL REFERENCES avatar_documents (id) ON DELETE CASCADE,
    page       BIGINT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    picture    BYTEA NOT NULL,
    PRIMARY KEY (document, page)
);
