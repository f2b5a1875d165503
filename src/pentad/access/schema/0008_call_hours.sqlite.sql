-- Calls and errors of every hour, for the chart on the home page.
CREATE TABLE call_hours (
    hour   INTEGER PRIMARY KEY,
    calls  INTEGER NOT NULL,
    errors INTEGER NOT NULL
) STRICT;
