-- The last evaluation of each avatar.
CREATE TABLE avatar_evaluations (
    avatar     INTEGER NOT NULL PRIMARY KEY REFERENCES avatars (number) ON DELETE CASCADE,
    at         REAL NOT NULL,
    body       TEXT NOT NULL
) STRICT;

-- What readers said of answers. The author accepts what the calibration may learn from.
CREATE TABLE avatar_feedback (
    answer     TEXT NOT NULL PRIMARY KEY,
    avatar     INTEGER NOT NULL REFERENCES avatars (number) ON DELETE CASCADE,
    owner      TEXT NOT NULL,
    at         REAL NOT NULL,
    state      TEXT NOT NULL,
    body       TEXT NOT NULL
) STRICT;

CREATE INDEX avatar_feedback_by_avatar ON avatar_feedback (avatar, state, at);
