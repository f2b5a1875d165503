"""`mcp_context`, the context of a task: validated, hashed, redacted, fitted to a budget, and resolved."""
