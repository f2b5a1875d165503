"""Hosting agents: what an agent is, how it is loaded, and the built-in ones."""
