-- The batches of the audit trail form a chain; batches from before have no number. See access/audit_chain.py.
ALTER TABLE audit_batches ADD COLUMN number BIGINT;

ALTER TABLE audit_batches ADD COLUMN hash BYTEA;

CREATE UNIQUE INDEX audit_batches_number ON audit_batches (number);

CREATE TABLE audit_chain (
    name   TEXT COLLATE "C" PRIMARY KEY CHECK (name IN ('head', 'checkpoint')),
    number BIGINT NOT NULL,
    hash   BYTEA NOT NULL
);

INSERT INTO audit_chain (name, number, hash)
VALUES ('head', 0, decode(repeat('00', 32), 'hex')), ('checkpoint', 0, decode(repeat('00', 32), 'hex'));
