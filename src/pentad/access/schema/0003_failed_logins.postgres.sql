-- How often a password was wrong since then: for a name and an address together, and for each of the two alone.
CREATE TABLE failed_logins (
    subject  TEXT COLLATE "C" PRIMARY KEY,
    since    double precision NOT NULL,
    failures bigint NOT NULL
);

CREATE INDEX failed_logins_since ON failed_logins (since);
