"""The migrations of the events."""
