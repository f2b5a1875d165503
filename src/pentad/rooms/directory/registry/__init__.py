"""The MCP registry: the MCP servers among the records, for MCP hosts."""
