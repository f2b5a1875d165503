-- Cards somebody registered. `readable` is the readable id in lower case, unique among the cards that are active;
-- `words` is the folded text that searches look into. What was deleted stays, inactive.
CREATE TABLE agent_cards (
    id TEXT PRIMARY KEY,
    readable TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    words TEXT NOT NULL,
    card BLOB NOT NULL,
    active INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX agent_cards_readable ON agent_cards (readable) WHERE active = 1;
CREATE INDEX agent_cards_newest ON agent_cards (updated_at, id);
CREATE INDEX agent_cards_of_owner ON agent_cards (owner, updated_at, id);

-- What else cards are found by: tags, skills, authentication schemes, dialects, extensions and so on.
CREATE TABLE agent_card_marks (
    card TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, value, card)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_card_marks_of_card ON agent_card_marks (card);
