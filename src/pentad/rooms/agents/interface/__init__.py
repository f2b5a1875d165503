"""The ways into the room: MCP tools, resources and prompts, the agent protocols, the registry, pages."""
