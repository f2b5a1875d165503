"""Registers and schemas: finding, reading, creating, changing and deleting them."""
