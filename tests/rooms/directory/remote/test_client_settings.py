"""Settings for a remote directory: reading them, and errors when the room opens."""

from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.errors import Misconfigured
from pentad.rooms.directory.remote.client_settings import MODES, client_settings
from pentad.rooms.directory.settings import DirectorySettings
from pentad.settings.rooms import fields_of, variables_of
from tests.room_settings import room_settings

ISSUER = {"oidc_issuer": "https://login.example.org/", "oidc_client_id": "pentad"}


def read(**settings: str) -> Any:
    return client_settings(room_settings("directory", **{f"client_{key}": value for key, value in settings.items()}))


def test_without_an_address_there_is_no_other_directory() -> None:
    assert client_settings(DirectorySettings()) is None
    assert read(auth_mode="tls") is None


@pytest.mark.parametrize(
    ("given", "mode"),
    [("", "insecure"), ("none", "none"), ("insecure", "insecure"), ("TLS", "tls")],
)
def test_the_mode_defaults_to_plain_text(given: str, mode: str) -> None:
    made = read(server_address="127.0.0.1:8888", auth_mode=given)
    assert (made.address, made.mode) == ("127.0.0.1:8888", mode)


def test_a_token_alone_means_oidc() -> None:
    assert read(server_address="dir.example.org:443", auth_token="t").mode == "oidc"


def test_an_issuer_and_a_client_mean_oidc_with_the_usual_callback() -> None:
    made = read(server_address="dir.example.org:443", **ISSUER, oidc_client_secret="s3cret", oidc_scopes="openid,dir")
    assert made.mode == "oidc"
    assert (made.oidc.issuer, made.oidc.scopes) == ("https://login.example.org", "openid dir")
    assert (made.oidc.redirect_uri, made.oidc.auth_timeout) == ("http://localhost:8484/callback", 300)
    assert "s3cret" not in repr(made)


def test_the_callback_follows_its_port() -> None:
    made = read(server_address="dir.example.org:443", **ISSUER, oidc_callback_port="9000")
    assert (made.oidc.callback_port, made.oidc.redirect_uri) == (9000, "http://localhost:9000/callback")


@pytest.mark.requirement("dir:env:modes")
def test_an_unsupported_mode_names_those_there_are() -> None:
    with pytest.raises(Misconfigured, match="'github', which is unsupported") as raised:
        read(server_address="127.0.0.1:8888", auth_mode="github")
    assert all(mode in (raised.value.hint or "") for mode in MODES)


@pytest.mark.parametrize("address", ["localhost", "localhost:", ":8888", "localhost:x", "a/b:1", "localhost:70000"])
def test_an_address_needs_host_and_port(address: str) -> None:
    with pytest.raises(Misconfigured, match="SERVER_ADDRESS"):
        read(server_address=address)


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"auth_mode": "x509"}, "SPIFFE_SOCKET_PATH"),
        ({"auth_mode": "jwt", "spiffe_socket_path": "/s"}, "JWT_AUDIENCE"),
        ({"auth_mode": "jwt-tls"}, "SPIFFE_SOCKET_PATH and DIRECTORY_CLIENT_JWT_AUDIENCE"),
        ({"auth_mode": "token"}, "SPIFFE_TOKEN"),
        ({"auth_mode": "oidc"}, "AUTH_TOKEN, or DIRECTORY_CLIENT_OIDC_ISSUER and DIRECTORY_CLIENT_OIDC_CLIENT_ID"),
        ({"oidc_issuer": "https://login.example.org"}, "OIDC_CLIENT_ID"),
        ({"oidc_client_id": "pentad"}, "OIDC_ISSUER"),
        ({"oidc_issuer": "login", "oidc_client_id": "pentad"}, "OIDC_ISSUER is not a URL"),
        ({"oidc_issuer": "https://[", "oidc_client_id": "pentad"}, "OIDC_ISSUER or _OIDC_REDIRECT_URI is not a URL"),
        ({"oidc_issuer": "http://login.example.org", "oidc_client_id": "pentad"}, "in plain text"),
        ({**ISSUER, "oidc_redirect_uri": "callback"}, "OIDC_REDIRECT_URI is not a URL"),
        ({**ISSUER, "oidc_callback_port": "70000"}, "OIDC_CALLBACK_PORT"),
        ({**ISSUER, "oidc_auth_timeout": "long"}, "client_oidc_auth_timeout"),
        ({"auth_mode": "tls", "tls_ca_file": "/no/such/file"}, "TLS_CA_FILE cannot be read"),
        ({"auth_mode": "token", "spiffe_token": "/no/such/file"}, "SPIFFE_TOKEN cannot be read"),
        ({"auth_mode": "tls", "tls_cert_file": "/x"}, "belong together"),
        ({"auth_mode": "none", "auth_token": "t", "server_address": "dir.example.org:80"}, "in plain text"),
        ({"timeout": "soon"}, "client_timeout"),
        ({"timeout": "0"}, "client_timeout"),
    ],
)
def test_what_is_missing_is_told(settings: dict[str, str], missing: str) -> None:
    with pytest.raises(Misconfigured, match=missing):
        read(**{"server_address": "127.0.0.1:8888", **settings})


@pytest.mark.requirement("dir:env:names")
def test_the_other_clients_variables_are_these_settings(tmp_path: Path) -> None:
    for name in ("SERVER_ADDRESS", "AUTH_MODE", "SPIFFE_TOKEN", "TLS_SKIP_VERIFY", "AUTH_TOKEN"):
        field = fields_of(DirectorySettings)[f"client_{name.lower()}"]
        assert variables_of("directory", field) == (f"PENTAD_DIRECTORY_CLIENT_{name}", f"DIRECTORY_CLIENT_{name}")
    file = tmp_path / "ca.pem"
    file.write_text("x", encoding="utf-8")
    made = read(server_address="http://127.0.0.1:8888/", auth_mode="tls", tls_ca_file=str(file), tls_skip_verify="True")
    assert (made.address, made.skip_verify, made.host_and_port) == ("127.0.0.1:8888", True, ("127.0.0.1", 8888))
