"""The protocol core: both MCP eras on one endpoint. It does not depend on any room."""
