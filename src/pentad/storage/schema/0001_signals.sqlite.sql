-- What one process tells the others on this file; rows are pruned after some minutes.
-- AUTOINCREMENT: an id never comes back, so "everything after id n" stays true when rows go.
CREATE TABLE signals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    origin TEXT NOT NULL,
    channel TEXT NOT NULL,
    payload TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
