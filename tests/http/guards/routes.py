"""A request for each kind of route."""

ROUTES = [
    ("POST", "/mcp"), ("POST", "/mcp/"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("POST", "/rooms/lab/mcp"),
    ("GET", "/"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/openapi.json"),
    ("GET", "/llms.txt"), ("GET", "/.well-known/oauth-protected-resource"), ("GET", "/api/whoami"), ("GET", "/nowhere"),
    ("OPTIONS", "/mcp"),
]  # fmt: skip
