"""Signatures of records, and who owns the names they have."""
