"""The tables of listings."""
