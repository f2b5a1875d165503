"""The directory, measured."""
