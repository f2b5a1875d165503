"""Decides what counts as a secret in Pentad: by name or value, in URLs, headers, command lines, text and JSON."""
