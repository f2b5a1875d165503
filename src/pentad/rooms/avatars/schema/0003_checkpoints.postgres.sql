-- What an ingest has read and embedded so far. The transaction that stores the new generation deletes it, so it is there
-- only while an ingest runs, or after one was interrupted. `avatar` is an id: a new avatar has no number yet.
CREATE TABLE avatar_checkpoints (
    avatar  TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    content BYTEA NOT NULL,
    made_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (avatar, kind, key)
);

CREATE INDEX avatar_checkpoints_by_time ON avatar_checkpoints (made_at);
