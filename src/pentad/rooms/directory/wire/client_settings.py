"""How to reach a directory elsewhere: the `client_*` settings of the room, read and checked once.

The names are those of the other directory clients' variables (`DIRECTORY_CLIENT_SERVER_ADDRESS` and its kin), so that
whoever has those set has Pentad set. A wrong mode or a missing file is told when the room is opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pentad.kernel.errors import Misconfigured
from pentad.settings.model import is_loopback

MODES: Final = ("none", "insecure", "tls", "x509", "jwt", "jwt-tls", "token", "oidc")
DEADLINE_SECONDS: Final = 10.0
_VARIABLE: Final = "DIRECTORY_CLIENT_"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Everything about the connection to one other directory."""

    address: str
    mode: str = "insecure"
    token: str = ""
    audience: str = ""
    spiffe_socket: str = ""
    spiffe_token: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    skip_verify: bool = False
    deadline: float = DEADLINE_SECONDS

    @property
    def host_and_port(self) -> tuple[str, int]:
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)


def client_settings(settings: Mapping[str, Any]) -> ClientSettings | None:
    """The other directory the operator named, or None for the one in this process."""
    given = {key: str(settings.get(f"client_{key}") or "").strip() for key in _KEYS}
    if not given["server_address"]:
        return None
    made = ClientSettings(
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
        skip_verify=given["tls_skip_verify"].lower() in ("true", "1", "yes", "t"),
        deadline=_seconds(given["timeout"]),
    )
    _check(made)
    return made


def file_bytes(path: str, variable: str) -> bytes:
    """A file the operator named; Misconfigured when it cannot be read."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Misconfigured(f"{_VARIABLE}{variable} cannot be read: {error.strerror}.", hint="Check it.") from None


_KEYS: Final = (
    "server_address", "auth_mode", "auth_token", "jwt_audience", "spiffe_socket_path", "spiffe_token",
    "tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_name", "tls_skip_verify", "timeout",
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
        return "oidc" if given["auth_token"] else "insecure"
    if mode not in MODES:
        raise Misconfigured(
            f"{_VARIABLE}AUTH_MODE is {mode!r}, which is unsupported.",
            hint=f"It is one of {', '.join(MODES)}, or empty for plain text.",
        )
    return mode


def _seconds(text: str) -> float:
    try:
        seconds = float(text or DEADLINE_SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 600:
        raise Misconfigured(f"client_timeout is {text!r}.", hint="It is a number of seconds, up to 600.")
    return seconds


def _check(made: ClientSettings) -> None:
    wanted = {
        "x509": [("SPIFFE_SOCKET_PATH", made.spiffe_socket)],
        "jwt": [("SPIFFE_SOCKET_PATH", made.spiffe_socket), ("JWT_AUDIENCE", made.audience)],
        "jwt-tls": [("SPIFFE_SOCKET_PATH", made.spiffe_socket), ("JWT_AUDIENCE", made.audience)],
        "token": [("SPIFFE_TOKEN", made.spiffe_token)],
        "oidc": [("AUTH_TOKEN", made.token)],
    }.get(made.mode, [])
    if missing := [_VARIABLE + name for name, value in wanted if not value]:
        raise Misconfigured(f"The auth mode {made.mode} needs {' and '.join(missing)}.", hint="Set what is missing.")
    if bool(made.cert_file) != bool(made.key_file):
        raise Misconfigured(f"{_VARIABLE}TLS_CERT_FILE and _TLS_KEY_FILE belong together.", hint="Set both or neither.")
    files = {"TLS_CA_FILE": made.ca_file, "TLS_CERT_FILE": made.cert_file, "TLS_KEY_FILE": made.key_file}
    for name, path in {**files, "SPIFFE_TOKEN": made.spiffe_token if made.mode == "token" else ""}.items():
        if path:
            file_bytes(path, name)
    if made.token and made.mode in ("none", "insecure") and not is_loopback(made.host_and_port[0]):
        raise Misconfigured(
            f"{_VARIABLE}AUTH_TOKEN would travel as plain text to {made.address}.",
            hint="Use the auth mode oidc, which sends it over TLS.",
        )
