"""The wire formats of agents: each reads into and writes from the canonical task, none knows the engine."""
