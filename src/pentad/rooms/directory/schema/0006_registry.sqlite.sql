-- The state of a record: draft, proposed, approved, deprecated or withdrawn. Records from before are approved. The first
-- state is not a change; who pushed the record decided it.
ALTER TABLE directory_records ADD COLUMN state TEXT NOT NULL DEFAULT 'approved';
CREATE INDEX directory_records_unapproved ON directory_records (state, id) WHERE state <> 'approved';

CREATE TABLE directory_state_changes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    record     INTEGER NOT NULL REFERENCES directory_records (id) ON DELETE CASCADE,
    old_state  TEXT NOT NULL,
    new_state  TEXT NOT NULL,
    reason     TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at REAL NOT NULL
) STRICT;
CREATE INDEX directory_state_changes_of ON directory_state_changes (record, id);

-- The MCP servers among the records, as the registry lists them. `status` is empty while hosts do not see the record. Of
-- several records of one name and version the current one is shown. The row of a deleted record stays as a tombstone.
CREATE TABLE directory_servers (
    record            INTEGER PRIMARY KEY,
    name              TEXT NOT NULL,
    version           TEXT NOT NULL,
    version_key       TEXT NOT NULL,
    folded            TEXT NOT NULL,
    status            TEXT NOT NULL,
    message           TEXT NOT NULL,
    is_current        INTEGER NOT NULL,
    is_latest         INTEGER NOT NULL,
    published_at      REAL,
    status_changed_at REAL NOT NULL,
    updated_at        REAL NOT NULL
) STRICT;
CREATE INDEX directory_servers_by_name ON directory_servers (name, version);
CREATE INDEX directory_servers_listed ON directory_servers (name, version, updated_at, status, folded) WHERE is_current = 1;
CREATE INDEX directory_servers_latest ON directory_servers (name, version, updated_at, status, folded) WHERE is_latest = 1;
CREATE INDEX directory_servers_updated ON directory_servers (updated_at) WHERE is_current = 1;

-- MCP servers from before, which have no row yet.
CREATE TABLE directory_servers_waiting (
    record INTEGER PRIMARY KEY
) STRICT;
INSERT INTO directory_servers_waiting (record)
    SELECT DISTINCT p.record FROM directory_terms t JOIN directory_postings p ON p.term = t.id
    WHERE t.kind = 5 AND t.text IN ('integration/mcp', 'runtime/mcp');

-- Other registries that were imported: from which moment on the next import asks for changes, and the records that came
-- from there, by the name and version they have there.
CREATE TABLE directory_registries (
    url         TEXT PRIMARY KEY,
    since       REAL NOT NULL,
    imported_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE directory_registry_records (
    url     TEXT NOT NULL,
    name    TEXT NOT NULL,
    version TEXT NOT NULL,
    cid     TEXT NOT NULL,
    PRIMARY KEY (url, name, version)
) STRICT, WITHOUT ROWID;
