"""The protocol core: both MCP eras on one endpoint. It knows no room."""
