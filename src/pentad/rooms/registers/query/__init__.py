"""Queries over objects: one typed tree, read from two languages, written in two dialects."""
