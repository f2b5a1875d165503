-- How often a password was wrong since then: for a name and an address together, and for each of the two alone.
CREATE TABLE failed_logins (
    subject  TEXT PRIMARY KEY,
    since    REAL NOT NULL,
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX failed_logins_since ON failed_logins (since);
