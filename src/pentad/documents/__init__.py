"""Extracts text from documents: one reader per format, run in a separate process with limits."""
