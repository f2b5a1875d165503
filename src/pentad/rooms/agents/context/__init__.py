"""`mcp_context`: what travels with a task, checked, hashed, cleaned, fitted and fetched."""
