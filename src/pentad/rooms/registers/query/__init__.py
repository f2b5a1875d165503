"""Queries over objects: one model, two parsers (JSON and URL parameters), two SQL dialects."""
