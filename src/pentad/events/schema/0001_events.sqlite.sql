-- What happened, in order. `audience` is empty for everyone who may read the room, a principal, or 'admin'. A row with
-- several `subjects` (a JSON array) stands for one event each.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    room TEXT NOT NULL,
    kind TEXT NOT NULL,
    audience TEXT NOT NULL,
    subjects TEXT NOT NULL,
    principal TEXT NOT NULL,
    trace TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_audience ON events (audience, seq);

-- What to do when something happens. `body` is sealed JSON: the filter, the action with its secret, and the owner's rights.
-- `cursor` is behind the last event that was dealt with.
CREATE TABLE event_rules (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    body TEXT NOT NULL,
    cursor TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    problem TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX event_rules_of_owner ON event_rules (owner, created_at);
