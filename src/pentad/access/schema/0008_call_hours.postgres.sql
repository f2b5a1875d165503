-- Calls and errors of every hour, for the chart on the home page.
CREATE TABLE call_hours (
    hour   BIGINT PRIMARY KEY,
    calls  BIGINT NOT NULL,
    errors BIGINT NOT NULL
);
