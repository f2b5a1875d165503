"""Decides what is a secret, for all of Pentad: by name, by value, in URLs, headers, command lines, texts and JSON."""
