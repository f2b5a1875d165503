-- Cards somebody registered. `readable` is the readable id in lower case, unique among the cards that are active;
-- `words` is the folded text that searches look into. What was deleted stays, inactive.
CREATE TABLE agent_cards (
    id TEXT COLLATE "C" PRIMARY KEY,
    readable TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    words TEXT COLLATE "C" NOT NULL,
    card BYTEA NOT NULL,
    active SMALLINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL
);
CREATE UNIQUE INDEX agent_cards_readable ON agent_cards (readable) WHERE active = 1;
CREATE INDEX agent_cards_newest ON agent_cards (updated_at, id);
CREATE INDEX agent_cards_of_owner ON agent_cards (owner, updated_at, id);

-- What else cards are found by: tags, skills, authentication schemes, dialects, extensions and so on.
CREATE TABLE agent_card_marks (
    card TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, value, card)
);
CREATE INDEX agent_card_marks_of_card ON agent_card_marks (card);
