"""Agents: tasks with context on one durable engine, in three dialects."""
