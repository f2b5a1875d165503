"""Checks a statement against the sentences it cites, without a language model."""
