-- Keys the server signs with. A replaced key has no private half and stays for verification.
CREATE TABLE signing_keys (
    name       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    created_at REAL NOT NULL,
    retired_at REAL,
    public     TEXT NOT NULL,
    private    TEXT,
    PRIMARY KEY (name, generation)
) STRICT;
