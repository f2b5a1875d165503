-- What made an answer: for the lineage, until the retention removes it.
CREATE TABLE avatar_answers (
    id      TEXT NOT NULL PRIMARY KEY,
    avatar  INTEGER NOT NULL REFERENCES avatars (number) ON DELETE CASCADE,
    owner   TEXT NOT NULL,
    at      REAL NOT NULL,
    trace   TEXT NOT NULL,
    made_by TEXT NOT NULL,
    body    TEXT NOT NULL
) STRICT;

CREATE INDEX avatar_answers_by_time ON avatar_answers (at);
CREATE INDEX avatar_answers_by_avatar ON avatar_answers (avatar);
