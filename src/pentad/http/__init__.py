"""The HTTP front: guards in fixed order, then MCP endpoints directly and ordinary routes through Starlette."""
