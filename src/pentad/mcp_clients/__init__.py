"""MCP clients: where each keeps its configuration, and how it writes a server."""
