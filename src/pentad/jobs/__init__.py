"""Work that outlasts a request: a leased queue in the store, its workers, schedules, retries and HTTP deliveries."""
