"""The registry of agent cards: stored, searched, validated, and served like AgentVault's registry."""
