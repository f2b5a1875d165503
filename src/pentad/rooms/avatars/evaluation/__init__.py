"""Scores an avatar on its own corpus."""
