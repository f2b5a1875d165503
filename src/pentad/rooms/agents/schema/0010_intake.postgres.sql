-- Sends that can be repeated: by a hash of owner, agent and the key the sender chose. `request` is the hash of what was
-- sent, `task` and `seq` are the message in the log, `reply` is the answer if no task was made.
CREATE TABLE agent_sends (
    key     BYTEA PRIMARY KEY,
    request BYTEA NOT NULL,
    task    TEXT COLLATE "C",
    seq     BIGINT NOT NULL,
    reply   BYTEA,
    at      DOUBLE PRECISION NOT NULL
);

-- Files of messages and results, in pieces. `sha256` is NULL until the last piece is there. A file that no task uses is
-- deleted after `expires_at`.
CREATE TABLE agent_files (
    id         TEXT COLLATE "C" PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    sha256     TEXT COLLATE "C",
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX agent_files_of_owner ON agent_files (owner, id);
CREATE INDEX agent_files_by_end ON agent_files (expires_at);

CREATE TABLE agent_file_pieces (
    file   TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (file, number)
);

CREATE TABLE agent_file_uses (
    task TEXT COLLATE "C" NOT NULL,
    file TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task, file)
);
CREATE INDEX agent_file_uses_of_file ON agent_file_uses (file);

-- The number of a card in the search index; NULL for cards that are not in it yet.
ALTER TABLE agent_cards ADD COLUMN number BIGINT;
CREATE UNIQUE INDEX agent_cards_number ON agent_cards (number) WHERE number IS NOT NULL;
