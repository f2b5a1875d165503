"""The tables of the shared search."""
