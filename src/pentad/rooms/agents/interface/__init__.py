"""The room's interfaces: MCP tools, resources and prompts, the agent protocols, the registry, pages."""
