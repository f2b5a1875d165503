"""Transport security of the gRPC server, and callers authenticated by certificate.

The room's settings name the files (`grpc_cert_file`, `grpc_key_file`, and `grpc_client_ca_file` to require client
certificates). `grpc_auth = "none"` waives the login if only this machine can connect. A caller with a certificate of
the configured authority needs no login; `grpc_client_role` sets its rights.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import grpc

from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Principal, role_scopes
from pentad.rooms.directory.settings import DirectorySettings
from pentad.settings.model import is_loopback

_NAMES: Final = ("x509_subject_alternative_name", "x509_common_name")
_LONGEST_NAME: Final = 200


def server_credentials(settings: DirectorySettings) -> grpc.ServerCredentials | None:
    """The server's TLS credentials, or None for plain text."""
    cert, key = settings.grpc_cert_file, settings.grpc_key_file
    authority = settings.grpc_client_ca_file
    if not cert and not key:
        if authority:
            raise Misconfigured("grpc_client_ca_file needs grpc_cert_file and grpc_key_file.", hint="Set all three.")
        return None
    if not cert or not key:
        raise Misconfigured("grpc_cert_file and grpc_key_file belong together.", hint="Set both, or neither.")
    pair = (_read(key, "grpc_key_file"), _read(cert, "grpc_cert_file"))
    roots = _read(authority, "grpc_client_ca_file") if authority else None
    return grpc.ssl_server_credentials([pair], root_certificates=roots, require_client_auth=roots is not None)


def is_login_waived(settings: DirectorySettings, host: str) -> bool:
    """Whether gRPC needs no login. Only allowed on a loopback address."""
    if settings.grpc_auth == "none" and not is_loopback(host):
        raise Misconfigured(
            f'grpc_auth = "none" is refused on {host!r}: anybody who reaches that address could do anything.',
            hint="Bind 127.0.0.1, or leave grpc_auth at required.",
        )
    return settings.grpc_auth == "none"


class CertificateAuth:
    """Authenticates callers by the certificate that TLS checked when they connected."""

    def __init__(self, settings: DirectorySettings) -> None:
        self._scopes = role_scopes(settings.grpc_client_role)
        self._asked_for = bool(settings.grpc_client_ca_file)

    def principal(self, connection: Mapping[str, Sequence[bytes]]) -> Principal | None:
        """The caller that a connection's certificate names, or None without a certificate."""
        if not self._asked_for:
            return None
        for key in _NAMES:
            if found := connection.get(key):
                name = found[0].decode("utf-8", "replace")[:_LONGEST_NAME]
                return Principal(id=f"x509:{name}", name=name, scopes=self._scopes, kind="token")
        return None


def _read(path: str, setting: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Misconfigured(f"{setting} cannot be read: {error.strerror}.", hint="Check the path.") from None
