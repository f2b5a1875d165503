"""The MCP servers among the records, as a registry that MCP hosts read."""
