"""Tokens for a remote directory, from a real local issuer."""

import asyncio
import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pentad.kernel.errors import PentadError, Unauthenticated, Unavailable
from pentad.net.fetch import HttpFetcher
from pentad.rooms.directory.remote.client_settings import ClientSettings, OidcSettings
from pentad.rooms.directory.remote.node import RemoteNode
from pentad.rooms.directory.remote.oidc import OidcTokens
from tests.ports import free_port
from tests.rooms.directory.interface.grpc.certificates import Authority
from tests.rooms.directory.interface.grpc.site import open_site
from tests.waiting import until

pytestmark = pytest.mark.anyio
SECRET = "s3cret-of-the-client"


class Clock:
    def __init__(self) -> None:
        self.time = 1_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class LocalIssuer:
    """Gives out numbered tokens, and remembers what it was asked."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.basic: list[str] = []
        self.challenges: dict[str, str] = {}
        self.described: dict[str, Any] = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        self.extra: dict[str, Any] = {"expires_in": 600}
        self.tokens: list[str] = []
        self.refuses: set[str] = set()
        self.url = ""

    def describe(self) -> dict[str, Any]:
        addresses = {"token_endpoint": f"{self.url}/token", "authorization_endpoint": f"{self.url}/authorize"}
        return {"issuer": self.url, **addresses, **self.described}

    def grant(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.forms.append(form)
        if form["grant_type"] in self.refuses:
            return 400, {"error": "invalid_grant", "error_description": f"not with {form}"}
        if form["grant_type"] == "authorization_code":
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if self.challenges.get(form["code"]) != base64.urlsafe_b64encode(digest).rstrip(b"=").decode():
                return 400, {"error": "invalid_grant"}
        token = self.tokens.pop(0) if self.tokens else f"token-{len(self.forms)}"
        return 200, {"access_token": token, "token_type": "Bearer", **self.extra}


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    made = LocalIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.path == "/.well-known/openid-configuration"
            self._answer(200 if is_known else 404, made.describe() if is_known else {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            made.basic.append(self.headers.get("authorization", ""))
            self._answer(*made.grant({key: values[0] for key, values in parse_qs(body).items()}))

        def _answer(self, status: int, said: dict[str, Any]) -> None:
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *_: Any) -> None:  # noqa: A002  the base class's name
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        made.url = f"http://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield made
        listening.shutdown()
        thread.join()


@contextlib.asynccontextmanager
async def tokens_of(
    issuer: str, folder: Path, *, clock: Clock | None = None, token: str = "", **settings: Any
) -> AsyncGenerator[OidcTokens]:
    port = free_port()
    callback: dict[str, Any] = {"callback_port": port, "redirect_uri": f"http://localhost:{port}/callback"}
    oidc = OidcSettings(issuer=issuer, client_id="pentad", **{**callback, **settings})
    client = ClientSettings("127.0.0.1:1", "oidc", token=token, deadline=3.0, oidc=oidc)
    fetcher = HttpFetcher()
    made = OidcTokens(client, fetcher, folder, clock or Clock())
    try:
        yield made
    finally:
        await made.close()
        await fetcher.close()


async def address_to_open(tokens: OidcTokens) -> str:
    with pytest.raises(Unauthenticated) as raised:
        await tokens.token()
    hint = raised.value.hint or ""
    assert hint.startswith("Log in at ")
    assert hint.endswith(", then call again.")
    return hint.removeprefix("Log in at ").removesuffix(", then call again.")


async def visit(redirect: str, query: str) -> str:
    where = urlsplit(redirect)
    reader, writer = await asyncio.open_connection("127.0.0.1", where.port)
    writer.write(f"GET {where.path}?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


def asked_in(address: str) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}


async def test_a_token_that_is_given_asks_nobody(tmp_path: Path) -> None:
    async with tokens_of("http://127.0.0.1:1", tmp_path, token="given") as tokens:
        assert await tokens.token() == "given"


async def test_the_clients_secret_gets_a_token_that_is_kept(issuer: LocalIssuer, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"client_secret": SECRET, "scopes": "dir read", "audience": "dir.example.org"}
    async with tokens_of(issuer.url, tmp_path, **asked) as tokens:
        assert [await tokens.token(), await tokens.token()] == ["token-1", "token-1"]
    async with tokens_of(issuer.url, tmp_path, **asked) as tokens:
        assert await tokens.token() == "token-1"
    grant = {"grant_type": "client_credentials", "client_id": "pentad", "client_secret": SECRET}
    assert issuer.forms == [{**grant, "scope": "dir read", "audience": "dir.example.org"}]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert SECRET not in file.read_text(encoding="utf-8")


async def test_a_secret_goes_into_the_header_unless_the_issuer_takes_forms(issuer: LocalIssuer, tmp_path: Path) -> None:
    issuer.described = {}
    async with tokens_of(issuer.url, tmp_path, client_secret="a:b") as tokens:
        await tokens.token()
    assert issuer.basic == [f"Basic {base64.b64encode(b'pentad:a%3Ab').decode()}"]
    assert "client_secret" not in issuer.forms[0]


async def test_another_client_or_audience_has_a_token_of_its_own(issuer: LocalIssuer, tmp_path: Path) -> None:
    differing: list[dict[str, Any]] = [{}, {"audience": "other"}, {"client_id": "x"}]
    for number, settings in enumerate(differing, start=1):
        whole: dict[str, Any] = {"issuer": issuer.url, "client_id": "pentad", "client_secret": SECRET, **settings}
        oidc = OidcSettings(**whole)
        fetcher = HttpFetcher()
        tokens = OidcTokens(ClientSettings("127.0.0.1:1", "oidc", oidc=oidc), fetcher, tmp_path, Clock())
        assert await tokens.token() == f"token-{number}"
        await fetcher.close()


async def test_an_expired_token_is_replaced(issuer: LocalIssuer, tmp_path: Path) -> None:
    clock = Clock()
    async with tokens_of(issuer.url, tmp_path, clock=clock, client_secret=SECRET) as tokens:
        assert await tokens.token() == "token-1"
        clock.time += 500
        assert await tokens.token() == "token-1"
        clock.time += 90
        assert await tokens.token() == "token-2"


async def test_a_refresh_token_is_used_and_kept_when_no_new_one_comes(issuer: LocalIssuer, tmp_path: Path) -> None:
    clock = Clock()
    issuer.extra = {"expires_in": 600, "refresh_token": "again"}
    async with tokens_of(issuer.url, tmp_path, clock=clock, client_secret=SECRET) as tokens:
        await tokens.token()
        issuer.extra = {"expires_in": 600}
        for number in (2, 3):
            clock.time += 700
            assert await tokens.token() == f"token-{number}"
    assert [form.get("refresh_token") for form in issuer.forms] == [None, "again", "again"]


async def test_a_refresh_that_is_refused_leads_to_a_new_grant(issuer: LocalIssuer, tmp_path: Path) -> None:
    clock = Clock()
    issuer.extra = {"expires_in": 600, "refresh_token": "again"}
    issuer.refuses = {"refresh_token"}
    async with tokens_of(issuer.url, tmp_path, clock=clock, client_secret=SECRET) as tokens:
        await tokens.token()
        clock.time += 700
        assert await tokens.token() == "token-3"


async def test_a_token_the_directory_refused_is_not_sent_again(issuer: LocalIssuer, tmp_path: Path) -> None:
    async with tokens_of(issuer.url, tmp_path, client_secret=SECRET) as tokens:
        assert await tokens.token() == "token-1"
        tokens.refused()
        assert await tokens.token() == "token-2"


async def test_a_person_logs_in_and_the_next_call_works(issuer: LocalIssuer, tmp_path: Path) -> None:
    async with tokens_of(issuer.url, tmp_path, audience="dir.example.org") as tokens:
        address = await address_to_open(tokens)
        asked = asked_in(address)
        assert address.startswith(f"{issuer.url}/authorize?")
        assert (asked["code_challenge_method"], asked["audience"]) == ("S256", "dir.example.org")
        assert await address_to_open(tokens) == address
        issuer.challenges["abc"] = asked["code_challenge"]
        answer = await visit(asked["redirect_uri"], f"code=abc&state={asked['state']}")
        assert "200 OK" in answer
        assert "token-1" not in answer
        assert await tokens.token() == "token-1"
    assert issuer.forms[0]["redirect_uri"] == asked["redirect_uri"]


async def test_an_answer_with_another_state_is_refused_and_the_login_goes_on(
    issuer: LocalIssuer, tmp_path: Path
) -> None:
    async with tokens_of(issuer.url, tmp_path) as tokens:
        asked = asked_in(await address_to_open(tokens))
        issuer.challenges["abc"] = asked["code_challenge"]
        assert "400 Bad Request" in await visit(asked["redirect_uri"], "code=abc&state=wrong")
        assert "404 Not Found" in await visit(asked["redirect_uri"].replace("callback", "other"), "")
        assert issuer.forms == []
        assert "200 OK" in await visit(asked["redirect_uri"], f"code=abc&state={asked['state']}")
        assert await tokens.token() == "token-1"


@pytest.mark.parametrize("query", ["error=access_denied", "code=stolen"])
async def test_a_login_that_failed_is_told_once_and_then_begun_anew(
    issuer: LocalIssuer, tmp_path: Path, query: str
) -> None:
    async with tokens_of(issuer.url, tmp_path) as tokens:
        first = asked_in(await address_to_open(tokens))
        assert "400 Bad Request" in await visit(first["redirect_uri"], f"{query}&state={first['state']}")
        with pytest.raises(PentadError, match=r"login was refused|gave no token \(invalid_grant\)"):
            await tokens.token()
        assert asked_in(await address_to_open(tokens))["state"] != first["state"]


async def is_taken(port: int | None) -> bool:
    try:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", port)
    except OSError:
        return True
    server.close()
    return False


async def test_nobody_is_waited_for_longer_than_said(issuer: LocalIssuer, tmp_path: Path) -> None:
    async with tokens_of(issuer.url, tmp_path, auth_timeout=0.05) as tokens:
        asked = asked_in(await address_to_open(tokens))
        port = urlsplit(asked["redirect_uri"]).port
        await until(lambda: is_taken(port), lambda taken: not taken)


async def test_a_taken_callback_port_is_told(issuer: LocalIssuer, tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    async with taken, tokens_of(issuer.url, tmp_path, callback_port=port) as tokens:
        with pytest.raises(Unavailable, match=f"port {port}"):
            await tokens.token()


async def test_a_dead_issuer_is_told(tmp_path: Path) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    async with tokens_of(dead, tmp_path, client_secret=SECRET) as tokens:
        with pytest.raises(Unavailable, match=f"The OIDC issuer {dead} cannot be reached") as raised:
            await tokens.token()
    assert "OIDC_ISSUER" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({"issuer": "https://other.example.org"}, "gives another address"),
        ({"token_endpoint": None}, "no usable token_endpoint"),
        ({"token_endpoint": "ftp://example.org"}, "no usable token_endpoint"),
    ],
)
async def test_a_wrong_description_is_told(
    issuer: LocalIssuer, tmp_path: Path, described: dict[str, Any], told: str
) -> None:
    issuer.described = described
    async with tokens_of(issuer.url, tmp_path, client_secret=SECRET) as tokens:
        with pytest.raises(Unavailable, match=told):
            await tokens.token()


async def test_a_refusal_shows_the_code_and_no_secret(issuer: LocalIssuer, tmp_path: Path) -> None:
    issuer.refuses = {"client_credentials"}
    async with tokens_of(issuer.url, tmp_path, client_secret=SECRET) as tokens:
        with pytest.raises(Unauthenticated, match=r"gave no token \(invalid_grant\)") as raised:
            await tokens.token()
    assert SECRET not in raised.value.sentence()


@pytest.mark.requirement("dir:env:oidc")
async def test_the_tokens_open_a_directory(issuer: LocalIssuer, tmp_path: Path) -> None:
    authority = Authority()
    cert, key = authority.server().write(tmp_path, "server")
    root, _ = authority.root.write(tmp_path, "root")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key)}
    async with open_site(tmp_path / "data", auth="required", settings=files) as site:
        issuer.tokens = ["unwanted", site.keys["reader"]]
        oidc = OidcSettings(issuer=issuer.url, client_id="pentad", client_secret=SECRET)
        settings = ClientSettings(f"localhost:{site.port}", "oidc", ca_file=str(root), oidc=oidc)
        fetcher = HttpFetcher()
        node = RemoteNode(settings, OidcTokens(settings, fetcher, tmp_path / "kept", Clock()))
        with pytest.raises(Unauthenticated):
            await node.search_cids()
        assert await node.search_cids() == []
        await node.close()
        await fetcher.close()
