-- Whether the directory lists a card. Cards registered before are in it as records of their owners.
ALTER TABLE agent_cards ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
