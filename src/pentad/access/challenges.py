"""What a refusal says in WWW-Authenticate: how to log in, or which scope is wanting.

Bearer comes first, because several clients read only the first challenge of several; browsers look for the one they
know, Basic, wherever it stands. `error`, `scope` and `resource_metadata` come before everything else in it, as clients
that search the joined header take the first hit.
"""

from typing import Final

REALM: Final = "Pentad"
BASIC: Final = f'Basic realm="{REALM}", charset="UTF-8"'


def bearer(*, metadata_url: str | None = None, scope: str | None = None, error: str | None = None) -> str:
    """The Bearer challenge (RFC 6750) with the address of the resource's metadata (RFC 9728)."""
    told = {"error": error, "scope": scope, "resource_metadata": metadata_url, "realm": REALM}
    return "Bearer " + ", ".join(f"{name}={_quoted(value)}" for name, value in told.items() if value is not None)


def _quoted(text: str) -> str:
    """A quoted-string (RFC 9110 5.6.4); what could break out of the header is left out."""
    safe = "".join(character for character in text if " " <= character <= "~")
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
