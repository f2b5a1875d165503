"""The store: one Database port, SQLite embedded, PostgreSQL to scale out."""
