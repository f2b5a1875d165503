"""The database schema of the avatars room."""
