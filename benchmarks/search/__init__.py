"""The shared search, measured."""
