"""The tables of the agents room."""
