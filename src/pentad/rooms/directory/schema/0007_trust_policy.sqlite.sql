-- Who is trusted: named keys, and issuers whose published keys count, for the names that begin with `namespace`. `keys` is
-- a JSON list of public keys in PEM; those of an issuer are as of `checked_at`, and `problem` says why they are not newer.
CREATE TABLE directory_trust_entries (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    issuer     TEXT NOT NULL,
    keys       TEXT NOT NULL,
    checked_at REAL NOT NULL,
    problem    TEXT,
    created_by TEXT NOT NULL,
    created_at REAL NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- Records that are stored but not found, because the policy does not trust them and their namespace asks for it.
CREATE TABLE directory_quarantine (
    record INTEGER PRIMARY KEY REFERENCES directory_records (id) ON DELETE CASCADE,
    reason TEXT NOT NULL
) STRICT;
ALTER TABLE directory_namespaces ADD COLUMN quarantine INTEGER NOT NULL DEFAULT 0;

-- Without entries every valid signature is trusted, as before.
INSERT INTO directory_verifications (record, kind, success, body, checked_at)
    SELECT record, 'policy', 1, '{"trusted_by":["any valid signature"],"reason":""}', checked_at
    FROM directory_verifications WHERE kind = 'signatures' AND success = 1;
