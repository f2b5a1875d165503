"""The records of the demo, by theme."""
