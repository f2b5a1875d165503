-- Keys the server signs with. A replaced key has no private half and stays for verification.
CREATE TABLE signing_keys (
    name       TEXT COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    created_at double precision NOT NULL,
    retired_at double precision,
    public     TEXT COLLATE "C" NOT NULL,
    private    TEXT COLLATE "C",
    PRIMARY KEY (name, generation)
);
