"""Turns the retrieval scores of one corpus into probabilities."""
