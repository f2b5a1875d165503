"""Registers: schema-checked objects with history, for agents and people."""
