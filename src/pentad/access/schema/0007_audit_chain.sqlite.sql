-- The batches of the audit trail form a chain; batches from before have no number. See access/audit_chain.py.
ALTER TABLE audit_batches ADD COLUMN number INTEGER;

ALTER TABLE audit_batches ADD COLUMN hash BLOB;

CREATE UNIQUE INDEX audit_batches_number ON audit_batches (number);

CREATE TABLE audit_chain (
    name   TEXT PRIMARY KEY CHECK (name IN ('head', 'checkpoint')),
    number INTEGER NOT NULL,
    hash   BLOB NOT NULL
) STRICT;

INSERT INTO audit_chain (name, number, hash) VALUES ('head', 0, zeroblob(32)), ('checkpoint', 0, zeroblob(32));
