"""The store's own tables, as numbered SQL files."""
