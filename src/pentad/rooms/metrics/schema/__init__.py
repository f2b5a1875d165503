"""The tables of the metrics room."""
