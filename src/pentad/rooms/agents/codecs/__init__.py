"""The wire formats of agents. Each converts to and from the canonical task; none depends on the engine."""
