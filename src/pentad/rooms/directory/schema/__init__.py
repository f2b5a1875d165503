"""The tables of the directory room."""
