"""The `client_*` settings of the room: how to reach a remote directory.

The names match the variables of other directory clients (`DIRECTORY_CLIENT_SERVER_ADDRESS` and so on), so an existing
environment works for Pentad too. A wrong mode or a missing file is reported when the room opens.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pentad.kernel.errors import Misconfigured
from pentad.rooms.directory.settings import DirectorySettings
from pentad.settings.model import is_loopback

MODES: Final = ("none", "insecure", "tls", "x509", "jwt", "jwt-tls", "token", "oidc")
DEADLINE_SECONDS: Final = 10.0
CALLBACK_PORT: Final = 8484
AUTH_SECONDS: Final = 300.0
_VARIABLE: Final = "DIRECTORY_CLIENT_"


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The OpenID Connect issuer for the remote directory, and our client there."""

    issuer: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: str = ""
    audience: str = ""
    redirect_uri: str = f"http://localhost:{CALLBACK_PORT}/callback"
    callback_port: int = CALLBACK_PORT
    auth_timeout: float = AUTH_SECONDS
    issuer_setting: str = f"{_VARIABLE}OIDC_ISSUER"
    """The setting that named the issuer, for error messages."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The connection to one remote directory."""

    address: str
    mode: str = "insecure"
    token: str = field(default="", repr=False)
    audience: str = ""
    spiffe_socket: str = ""
    spiffe_token: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    skip_verify: bool = False
    deadline: float = DEADLINE_SECONDS
    oidc: OidcSettings = field(default_factory=OidcSettings)
    roots: bytes = b""
    """The authorities for the server's certificate (PEM). If empty, `ca_file` or the system's are used."""
    chain: bytes = b""
    private_key: bytes = field(default=b"", repr=False)
    """Our certificate and its key (PEM), if they are not in files."""

    @property
    def host_and_port(self) -> tuple[str, int]:
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)


def client_settings(settings: DirectorySettings) -> ClientSettings | None:
    """The remote directory in the settings, or None for the local one."""
    given = {key: (getattr(settings, f"client_{key}") or "").strip() for key in _TEXTS}
    if not given["server_address"]:
        return None
    client = ClientSettings(
        address=_address(given["server_address"]),
        mode=_mode(given),
        token=given["auth_token"],
        audience=given["jwt_audience"],
        spiffe_socket=given["spiffe_socket_path"],
        spiffe_token=given["spiffe_token"],
        ca_file=given["tls_ca_file"],
        cert_file=given["tls_cert_file"],
        key_file=given["tls_key_file"],
        server_name=given["tls_server_name"],
        skip_verify=settings.client_tls_skip_verify,
        deadline=_seconds(settings.client_timeout, "client_timeout", DEADLINE_SECONDS, 600),
        oidc=_oidc(given, settings),
    )
    _check(client)
    return client


def file_bytes(path: str, variable: str) -> bytes:
    """The content of a file in the settings; Misconfigured if it cannot be read."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Misconfigured(f"{_VARIABLE}{variable} cannot be read: {error.strerror}.", hint="Check it.") from None


_TEXTS: Final = (
    "server_address", "auth_mode", "auth_token", "jwt_audience", "spiffe_socket_path", "spiffe_token",
    "tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_name",
    "oidc_issuer", "oidc_client_id", "oidc_client_secret", "oidc_scopes", "oidc_audience", "oidc_redirect_uri",
)  # fmt: skip


def _address(text: str) -> str:
    address = text.removeprefix("http://").removeprefix("https://").rstrip("/")
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65_535 or "/" in host:
        raise Misconfigured(f"{_VARIABLE}SERVER_ADDRESS is {text!r}.", hint="Write host:port, as in 127.0.0.1:8888.")
    return address


def _mode(given: Mapping[str, str]) -> str:
    mode = given["auth_mode"].lower()
    if not mode:
        return "oidc" if given["auth_token"] or given["oidc_issuer"] or given["oidc_client_id"] else "insecure"
    if mode not in MODES:
        raise Misconfigured(
            f"{_VARIABLE}AUTH_MODE is {mode!r}, which is unsupported.",
            hint=f"It is one of {', '.join(MODES)}, or empty for plain text.",
        )
    return mode


def _seconds(given: float | None, name: str, usual: float, most: int) -> float:
    seconds = usual if given is None else given
    if not 0 < seconds <= most:
        raise Misconfigured(f"{name} is {seconds:g}.", hint=f"It is a number of seconds, up to {most}.")
    return seconds


def _oidc(given: Mapping[str, str], settings: DirectorySettings) -> OidcSettings:
    port = CALLBACK_PORT if settings.client_oidc_callback_port is None else settings.client_oidc_callback_port
    if not 0 < port <= 65_535:
        raise Misconfigured(f"{_VARIABLE}OIDC_CALLBACK_PORT is {port}.", hint="It is a number up to 65535.")
    return OidcSettings(
        issuer=given["oidc_issuer"].rstrip("/"),
        client_id=given["oidc_client_id"],
        client_secret=given["oidc_client_secret"],
        scopes=" ".join(given["oidc_scopes"].replace(",", " ").split()),
        audience=given["oidc_audience"],
        redirect_uri=given["oidc_redirect_uri"] or f"http://localhost:{port}/callback",
        callback_port=port,
        auth_timeout=_seconds(settings.client_oidc_auth_timeout, f"{_VARIABLE}OIDC_AUTH_TIMEOUT", AUTH_SECONDS, 3_600),
    )


def _check(client: ClientSettings) -> None:
    needed = {
        "x509": [("SPIFFE_SOCKET_PATH", client.spiffe_socket)],
        "jwt": [("SPIFFE_SOCKET_PATH", client.spiffe_socket), ("JWT_AUDIENCE", client.audience)],
        "jwt-tls": [("SPIFFE_SOCKET_PATH", client.spiffe_socket), ("JWT_AUDIENCE", client.audience)],
        "token": [("SPIFFE_TOKEN", client.spiffe_token)],
    }.get(client.mode, [])
    if missing := [_VARIABLE + name for name, value in needed if not value]:
        raise Misconfigured(f"The auth mode {client.mode} needs {' and '.join(missing)}.", hint="Set what is missing.")
    if client.mode == "oidc" and not client.token:
        _check_oidc(client.oidc)
    if bool(client.cert_file) != bool(client.key_file):
        raise Misconfigured(f"{_VARIABLE}TLS_CERT_FILE and _TLS_KEY_FILE belong together.", hint="Set both or neither.")
    files = {"TLS_CA_FILE": client.ca_file, "TLS_CERT_FILE": client.cert_file, "TLS_KEY_FILE": client.key_file}
    for name, path in {**files, "SPIFFE_TOKEN": client.spiffe_token if client.mode == "token" else ""}.items():
        if path:
            file_bytes(path, name)
    if client.token and client.mode in ("none", "insecure") and not is_loopback(client.host_and_port[0]):
        raise Misconfigured(
            f"{_VARIABLE}AUTH_TOKEN would be sent in plain text to {client.address}.",
            hint="Use the auth mode oidc, which sends it over TLS.",
        )


def _check_oidc(oidc: OidcSettings) -> None:
    if not oidc.issuer or not oidc.client_id:
        raise Misconfigured(
            f"The auth mode oidc needs {_VARIABLE}AUTH_TOKEN, or {_VARIABLE}OIDC_ISSUER and {_VARIABLE}OIDC_CLIENT_ID.",
            hint="Set what is missing.",
        )
    try:
        issuer, redirect = urlsplit(oidc.issuer), urlsplit(oidc.redirect_uri)
    except ValueError:
        raise Misconfigured(
            f"{_VARIABLE}OIDC_ISSUER or _OIDC_REDIRECT_URI is not a URL.", hint="Check the brackets."
        ) from None
    if issuer.scheme not in ("http", "https") or not issuer.hostname or issuer.query or issuer.fragment:
        raise Misconfigured(f"{_VARIABLE}OIDC_ISSUER is not a URL.", hint="Write it as in https://login.example.org.")
    if issuer.scheme == "http" and not is_loopback(issuer.hostname):
        raise Misconfigured(
            f"{_VARIABLE}OIDC_ISSUER would receive secrets in plain text at {issuer.hostname}.",
            hint="Use its https URL.",
        )
    if redirect.scheme not in ("http", "https") or not redirect.hostname:
        raise Misconfigured(
            f"{_VARIABLE}OIDC_REDIRECT_URI is not a URL.", hint="Write it as in http://localhost:8484/callback."
        )
