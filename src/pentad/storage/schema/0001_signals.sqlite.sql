-- What one process tells the others on this file; rows are pruned after some minutes.
-- The newest row is never pruned, so an id does not come back and "everything after id n" stays true when rows go.
CREATE TABLE signals (
    id INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    channel TEXT NOT NULL,
    payload TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
