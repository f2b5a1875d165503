"""The settings of the directory.

Those that begin with `client_` match the variables of other directory clients (`DIRECTORY_CLIENT_SERVER_ADDRESS` and so
on), so an existing environment works here too.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Literal, TypeVar

from pentad.settings.model import RoomSettings, setting

T = TypeVar("T")


def _client(name: str, default: T, about: str, *, secret: bool = False) -> T:
    return setting(default, about, secret=secret, variables=(f"DIRECTORY_CLIENT_{name}",))


def _of_server(name: str) -> str | None:
    return setting(None, f"The former place of `{name}`, which is now a setting of the server.", core=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySettings(RoomSettings):
    """What an operator can set for the directory."""

    schema_url: str | None = setting(
        None,
        "An OASF server to take schemas from, instead of those that come with Pentad.",
        variables=("OASF_API_VALIDATION_SCHEMA_URL", "SCHEMA_URL"),
    )
    default_version: str | None = setting(None, "The OASF version of records that name none; by default the newest.")
    approval: Literal["required", "automatic"] = setting(
        "required", "automatic approves every record at once; otherwise only those that administrators push."
    )
    registry_readers: Literal["login", "anyone"] = setting(
        "login", "anyone lets MCP hosts read the registry and the catalogues without credentials."
    )
    registry_networks: tuple[IPv4Network | IPv6Network, ...] = setting(
        (), "Networks whose callers read the registry and the catalogues without credentials, as CIDR ranges."
    )
    sync_hosts: tuple[str, ...] = setting((), "Hosts that syncs may reach although their address is private.")
    sync_networks: tuple[IPv4Network | IPv6Network, ...] = setting(
        (), "Private networks that syncs may reach, as CIDR ranges."
    )
    grpc_auth: Literal["required", "none"] = setting(
        "required", "none takes gRPC calls without a login; refused beyond this machine.", demo="none"
    )
    grpc_cert_file: str | None = _of_server("grpc_cert_file")
    grpc_key_file: str | None = _of_server("grpc_key_file")
    grpc_client_ca_file: str | None = _of_server("grpc_client_ca_file")
    grpc_client_role: Literal["reader", "writer", "admin"] = setting(
        "writer", "What a caller of the directory with a certificate of `grpc_client_ca_file` may do, without a login."
    )
    registry_address: str | None = setting(None, "An OCI registry to name to peers that ask for one.")
    registry_repository: str | None = setting(None, "The repository in that registry.")
    registry_insecure: bool = setting(False, "Whether the registry is reached over plain HTTP.")
    registry_username: str | None = setting(None, "The user to log in to the registry with.")
    registry_password: str | None = setting(None, "The password of that user.", secret=True)

    client_server_address: str | None = _client(
        "SERVER_ADDRESS", None, "Another directory (host:port) to use instead of the one in this store."
    )
    client_auth_mode: str | None = _client(
        "AUTH_MODE", None, "How to log in there: none, insecure, tls, x509, jwt, jwt-tls, token or oidc."
    )
    client_auth_token: str | None = _client("AUTH_TOKEN", None, "A bearer token for it.", secret=True)
    client_timeout: float | None = setting(None, "Seconds to wait for its answer; 10 by default.")
    client_jwt_audience: str | None = _client("JWT_AUDIENCE", None, "The audience of SPIFFE tokens.")
    client_spiffe_socket_path: str | None = _client("SPIFFE_SOCKET_PATH", None, "The socket of the SPIFFE agent.")
    client_spiffe_token: str | None = _client("SPIFFE_TOKEN", None, "The file that holds a SPIFFE token.")
    client_tls_ca_file: str | None = _client("TLS_CA_FILE", None, "The authority that signed its certificate (PEM).")
    client_tls_cert_file: str | None = _client("TLS_CERT_FILE", None, "The certificate to show it (PEM).")
    client_tls_key_file: str | None = _client("TLS_KEY_FILE", None, "The private key of that certificate.")
    client_tls_server_name: str | None = _client("TLS_SERVER_NAME", None, "The name its certificate has to have.")
    client_tls_skip_verify: bool = _client("TLS_SKIP_VERIFY", False, "Whether any certificate will do.")
    client_oidc_issuer: str | None = _client("OIDC_ISSUER", None, "Who issues tokens for it.")
    client_oidc_client_id: str | None = _client("OIDC_CLIENT_ID", None, "The client to ask for tokens as.")
    client_oidc_client_secret: str | None = _client(
        "OIDC_CLIENT_SECRET", None, "The client's secret: tokens without a person logging in.", secret=True
    )
    client_oidc_scopes: str | None = _client("OIDC_SCOPES", None, "The scopes to ask for.")
    client_oidc_audience: str | None = _client("OIDC_AUDIENCE", None, "The audience to ask for.")
    client_oidc_redirect_uri: str | None = _client("OIDC_REDIRECT_URI", None, "Where the browser returns to.")
    client_oidc_callback_port: int | None = _client("OIDC_CALLBACK_PORT", None, "The port it returns to; 8484.")
    client_oidc_auth_timeout: float | None = _client(
        "OIDC_AUTH_TIMEOUT", None, "Seconds to wait for the person to log in; 300 by default."
    )
