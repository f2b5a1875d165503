-- The trace of the request that queued the job, and on whose behalf: what the job does belongs to both.
ALTER TABLE jobs ADD COLUMN trace TEXT;
ALTER TABLE jobs ADD COLUMN principal TEXT;
