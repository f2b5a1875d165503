-- What a store is asked to keep for a moment, to see whether it still can. Empty but for that moment.
CREATE TABLE store_probes (
    id TEXT PRIMARY KEY,
    filler BLOB NOT NULL
) STRICT;
