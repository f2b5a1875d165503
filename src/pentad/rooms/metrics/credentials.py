"""Credentials that come with a request: the headers of the original, read where the transport has headers.

They are of this one request, are never kept or logged, and go only to the addresses the operator set.
"""

from typing import Any, Final

from pentad.mcp.call import Call

HEADERS: Final = (
    "x-anypnt-org-id",
    "x-anypnt-client-id",
    "x-anypnt-client-secret",
    "x-anypnt-username",
    "x-anypnt-password",
    "x-plaintext-password",
)


def credentials_of(call: Call[Any]) -> dict[str, str] | None:
    """By the name of the header; None where none came."""
    return {name: value for name in HEADERS if (value := call.header(name))} or None
