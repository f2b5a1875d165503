-- What made an answer: for the lineage, until the retention removes it.
CREATE TABLE avatar_answers (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    avatar  BIGINT NOT NULL REFERENCES avatars (number) ON DELETE CASCADE,
    owner   TEXT COLLATE "C" NOT NULL,
    at      DOUBLE PRECISION NOT NULL,
    trace   TEXT COLLATE "C" NOT NULL,
    made_by TEXT COLLATE "C" NOT NULL,
    body    TEXT COLLATE "C" NOT NULL
);

CREATE INDEX avatar_answers_by_time ON avatar_answers (at);
CREATE INDEX avatar_answers_by_avatar ON avatar_answers (avatar);
