"""Registers and schemas: found, seen, created, changed and deleted."""
