-- What the search finds of a task. Written behind the tasks, when their owner searches: sending one costs nothing more.
-- `seq` is the last event in it, `texts` are JSON by field.
CREATE TABLE agent_task_texts (
    number INTEGER PRIMARY KEY,
    task TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    seq INTEGER NOT NULL,
    texts TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE agent_task_words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER agent_task_words_out AFTER DELETE ON agent_task_texts BEGIN
    DELETE FROM agent_task_words WHERE rowid = old.number;
END;

-- Up to when the tasks of an owner are in it.
CREATE TABLE agent_task_indexes (
    owner TEXT PRIMARY KEY,
    up_to REAL NOT NULL
) STRICT, WITHOUT ROWID;
