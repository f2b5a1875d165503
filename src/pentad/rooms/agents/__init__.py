"""Agents: tasks with context on one durable engine, spoken to in three dialects."""
