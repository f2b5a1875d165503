"""Background work: a leased job queue in the store, its workers, schedules, retries and HTTP deliveries."""
