-- What an ingest has read and embedded so far. The transaction that stores the new generation deletes it, so it is there
-- only while an ingest runs, or after one was interrupted. `avatar` is an id: a new avatar has no number yet.
CREATE TABLE avatar_checkpoints (
    avatar  TEXT NOT NULL,
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    content BLOB NOT NULL,
    made_at REAL NOT NULL,
    PRIMARY KEY (avatar, kind, key)
) STRICT;

CREATE INDEX avatar_checkpoints_by_time ON avatar_checkpoints (made_at);
