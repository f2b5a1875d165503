"""Objects: writing, reading, history and referential integrity."""
