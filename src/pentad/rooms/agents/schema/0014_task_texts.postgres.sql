-- What the search finds of a task. Written behind the tasks, when their owner searches: sending one costs nothing more.
-- `seq` is the last event in it, `texts` are JSON by field.
CREATE TABLE agent_task_texts (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task TEXT COLLATE "C" NOT NULL UNIQUE,
    owner TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    texts TEXT COLLATE "C" NOT NULL
);
CREATE TABLE agent_task_words (
    number BIGINT PRIMARY KEY REFERENCES agent_task_texts (number) ON DELETE CASCADE,
    words TSVECTOR NOT NULL
);
CREATE INDEX agent_task_words_words ON agent_task_words USING gin (words);

-- Up to when the tasks of an owner are in it.
CREATE TABLE agent_task_indexes (
    owner TEXT COLLATE "C" PRIMARY KEY,
    up_to DOUBLE PRECISION NOT NULL
);
