"""Pentad: directory, registers, agents, avatars and metrics behind one MCP server."""

__version__ = "0.1.0"
