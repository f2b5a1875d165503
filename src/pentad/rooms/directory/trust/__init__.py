"""Signatures of records, and the owners of their names."""
