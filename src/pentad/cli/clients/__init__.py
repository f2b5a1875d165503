"""One module for each MCP client Pentad can be added to."""
