-- The last evaluation of each avatar.
CREATE TABLE avatar_evaluations (
    avatar     BIGINT NOT NULL PRIMARY KEY REFERENCES avatars (number) ON DELETE CASCADE,
    at         DOUBLE PRECISION NOT NULL,
    body       TEXT COLLATE "C" NOT NULL
);

-- What readers said of answers. The author accepts what the calibration may learn from.
CREATE TABLE avatar_feedback (
    answer     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    avatar     BIGINT NOT NULL REFERENCES avatars (number) ON DELETE CASCADE,
    owner      TEXT COLLATE "C" NOT NULL,
    at         DOUBLE PRECISION NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    body       TEXT COLLATE "C" NOT NULL
);

CREATE INDEX avatar_feedback_by_avatar ON avatar_feedback (avatar, state, at);
