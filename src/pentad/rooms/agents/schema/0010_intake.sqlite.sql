-- Sends that can be repeated: by a hash of owner, agent and the key the sender chose. `request` is the hash of what was
-- sent, `task` and `seq` are the message in the log, `reply` is the answer if no task was made.
CREATE TABLE agent_sends (
    key     BLOB PRIMARY KEY,
    request BLOB NOT NULL,
    task    TEXT,
    seq     INTEGER NOT NULL,
    reply   BLOB,
    at      REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Files of messages and results, in pieces. `sha256` is NULL until the last piece is there. A file that no task uses is
-- deleted after `expires_at`.
CREATE TABLE agent_files (
    id         TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size       INTEGER NOT NULL,
    sha256     TEXT,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_files_of_owner ON agent_files (owner, id);
CREATE INDEX agent_files_by_end ON agent_files (expires_at);

CREATE TABLE agent_file_pieces (
    file   TEXT NOT NULL,
    number INTEGER NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (file, number)
) STRICT;

CREATE TABLE agent_file_uses (
    task TEXT NOT NULL,
    file TEXT NOT NULL,
    PRIMARY KEY (task, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_file_uses_of_file ON agent_file_uses (file);

-- The number of a card in the search index; NULL for cards that are not in it yet.
ALTER TABLE agent_cards ADD COLUMN number INTEGER;
CREATE UNIQUE INDEX agent_cards_number ON agent_cards (number) WHERE number IS NOT NULL;
