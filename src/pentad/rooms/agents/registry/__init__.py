"""The registry of agent cards: kept, found, checked, and served as AgentVault's registry serves them."""
