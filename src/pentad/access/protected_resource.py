"""The protected-resource document (RFC 9728): where a client learns who issues tokens for this server."""

from collections.abc import Iterable
from typing import Any


def protected_resource(
    resource: str,
    *,
    authorization_servers: Iterable[str] = (),
    scopes: Iterable[str] = (),
    name: str = "Pentad",
    documentation: str | None = None,
) -> dict[str, Any]:
    """The document for one resource URL. Without issuers the list is left out, as the RFC asks of empty ones."""
    document: dict[str, Any] = {
        "resource": resource,
        "bearer_methods_supported": ["header"],
        "resource_name": name,
    }
    if servers := list(authorization_servers):
        document["authorization_servers"] = servers
    if supported := sorted(scopes):
        document["scopes_supported"] = supported
    if documentation is not None:
        document["resource_documentation"] = documentation
    return document
