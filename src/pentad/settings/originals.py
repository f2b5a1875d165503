"""The variables of the systems Pentad is compatible with, and which of its own each of them means.

Whoever moves over keeps their environment. Pentad's own variable wins where both are set; an earlier name in the table
wins over a later one for the same setting.
"""

from collections.abc import Mapping
from typing import Final

_CLIENT: Final = (
    "SERVER_ADDRESS",
    "AUTH_MODE",
    "SPIFFE_SOCKET_PATH",
    "SPIFFE_TOKEN",
    "JWT_AUDIENCE",
    "TLS_CERT_FILE",
    "TLS_KEY_FILE",
    "TLS_CA_FILE",
    "TLS_SKIP_VERIFY",
    "TLS_SERVER_NAME",
    "OIDC_ISSUER",
    "OIDC_CLIENT_ID",
    "OIDC_CLIENT_SECRET",
    "OIDC_SCOPES",
    "OIDC_AUDIENCE",
    "OIDC_REDIRECT_URI",
    "OIDC_CALLBACK_PORT",
    "OIDC_AUTH_TIMEOUT",
    "AUTH_TOKEN",
)

ORIGINALS: Final[Mapping[str, str]] = {
    **{f"DIRECTORY_CLIENT_{name}": f"PENTAD_DIRECTORY_CLIENT_{name}" for name in _CLIENT},
    "OASF_API_VALIDATION_SCHEMA_URL": "PENTAD_DIRECTORY_SCHEMA_URL",
    "SCHEMA_URL": "PENTAD_DIRECTORY_SCHEMA_URL",
}


def adopted(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Pentad's name of each setting another system's variable gives, with that variable's name and its text."""
    found: dict[str, tuple[str, str]] = {}
    for theirs, ours in ORIGINALS.items():
        if environ.get(theirs) and not environ.get(ours):
            found.setdefault(ours, (theirs, environ[theirs]))
    return found
