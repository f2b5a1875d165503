-- The text of attached files, for reading and searching. `object` is the id of the object. A row goes with its file, and its
-- words go with the row, whatever deletes it.
CREATE TABLE attachment_texts (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    file       TEXT NOT NULL UNIQUE REFERENCES files (id) ON DELETE CASCADE,
    object     INTEGER NOT NULL,
    schema     INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'done', 'failed', 'unsupported')),
    problem    TEXT,
    characters INTEGER NOT NULL DEFAULT 0,
    text       TEXT
) STRICT;
CREATE INDEX attachment_texts_by_object ON attachment_texts (object) WHERE state = 'done';
CREATE INDEX attachment_texts_by_schema ON attachment_texts (schema) WHERE state = 'done';

CREATE VIRTUAL TABLE attachment_words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER attachment_texts_deleted AFTER DELETE ON attachment_texts BEGIN
    DELETE FROM attachment_words WHERE rowid = old.number;
END;

-- Links to upload one file without further credentials. Only the hash of a token is stored.
CREATE TABLE upload_links (
    token      TEXT PRIMARY KEY,
    principal  TEXT NOT NULL,
    rights     TEXT NOT NULL,
    object     TEXT NOT NULL REFERENCES objects (uuid) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    expires_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX upload_links_by_principal ON upload_links (principal);

-- Files of earlier releases are read once, in the background.
INSERT INTO attachment_texts (file, object, schema, state)
    SELECT files.id, objects.id, objects.schema, 'pending' FROM files JOIN objects ON objects.uuid = files.object;
INSERT INTO jobs (name, key) SELECT 'registers.attachment_text', id FROM files;
