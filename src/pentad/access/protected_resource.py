"""Tells clients how to log in: the protected-resource document (RFC 9728) and WWW-Authenticate challenges.

Send the Bearer challenge before Basic: several clients read only the first challenge, while browsers look for Basic
anywhere. Within it, `error`, `scope` and `resource_metadata` come first, because clients that search the joined header
take the first match.
"""

from collections.abc import Iterable
from typing import Any, Final

REALM: Final = "Pentad"
BASIC: Final = f'Basic realm="{REALM}", charset="UTF-8"'


def protected_resource(
    resource: str,
    *,
    authorization_servers: Iterable[str] = (),
    scopes: Iterable[str] = (),
    name: str = "Pentad",
    documentation: str | None = None,
) -> dict[str, Any]:
    """The document for one resource URL. If there are no issuers, the list is left out, as the RFC requires."""
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


def bearer(*, metadata_url: str | None = None, scope: str | None = None, error: str | None = None) -> str:
    """The Bearer challenge (RFC 6750) with the URL of the resource's metadata (RFC 9728)."""
    parameters = {"error": error, "scope": scope, "resource_metadata": metadata_url, "realm": REALM}
    return "Bearer " + ", ".join(f"{name}={_quoted(value)}" for name, value in parameters.items() if value is not None)


def _quoted(text: str) -> str:
    """A quoted-string (RFC 9110 5.6.4) without characters that could break out of the header."""
    safe = "".join(character for character in text if " " <= character <= "~")
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
