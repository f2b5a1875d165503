"""The migrations of the job queue."""
