"""Client documents over real TLS connections: no private network is reached unless the operator allowed it.

A listener on this machine serves a valid document. So a server without the address guard would read it
and show the consent page, and these tests would fail.
"""

import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from pentad.app import App, open_app
from pentad.net.addresses import Address
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import front_of
from tests.http.browsing import PASSWORD, Browser, Page
from tests.http.conftest import UNHURRIED
from tests.http.oauth_client import Flow, Program
from tests.interop.client_document import NAME, REDIRECT, Published, published

pytestmark = pytest.mark.anyio

PUBLIC_NAME = "client.example"
OTHER_NAME = "inside.example"
OPENED = "opened.example"
HOSTS = {
    PUBLIC_NAME: ["127.0.0.1"],
    OTHER_NAME: ["127.0.0.1"],
    OPENED: ["127.0.0.1"],
    "localhost": ["127.0.0.1"],
    "mixed.example": ["192.0.66.2", "127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
}


class Names:
    """The name server of these tests."""

    async def resolve(self, host: str) -> Sequence[Address]:
        if host not in HOSTS:
            raise OSError("unknown name")
        return [ip_address(address) for address in HOSTS[host]]


@pytest.fixture
def document(tmp_path: Path) -> Generator[Published]:
    with published(tmp_path / "document", PUBLIC_NAME) as where:
        yield where


Opener = Callable[..., Awaitable[App]]


@pytest.fixture
async def opener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opener]:
    """Opens an app that trusts the certificates of these listeners and may fetch from `allow_hosts`."""
    async with AsyncExitStack() as stack:

        async def open_with(*trusted: Published, allow_hosts: Sequence[str] = ()) -> App:
            tls = ssl.create_default_context()
            for one in trusted:
                tls.load_verify_locations(one.certificate)
            monkeypatch.setattr("pentad.app.HttpFetcher", partial(HttpFetcher, resolver=Names(), tls=tls))
            settings = Settings(
                data=tmp_path / "data",
                rooms=(LAB,),
                limits=UNHURRIED,
                fetch=FetchPolicy(allow_hosts=frozenset(allow_hosts)),
            )
            app = await stack.enter_async_context(open_app(settings))
            await app.users.add("ada", PASSWORD, role="writer")
            return app

        yield open_with


async def ada_of(app: App) -> Flow:
    browser = Browser(front_of(app))
    await browser.log_in()
    return Flow(Program(front_of(app)), browser, "", REDIRECT)


def is_refused(page: Page) -> bool:
    return page.status == 400 and page.location is None and NAME not in page.body


@pytest.mark.requirement("oauth:document:ssrf")
@pytest.mark.parametrize("host", [PUBLIC_NAME, "127.0.0.1", "localhost", "mixed.example", "mapped.example"])
async def test_a_document_on_a_private_address_is_not_even_connected_to(
    opener: Opener, document: Published, host: str
) -> None:
    flow = await ada_of(await opener(document))
    page = await flow.page(client_id=f"https://{host}:{document.port}/client.json")
    assert is_refused(page), page.body
    assert document.connections == 0


@pytest.mark.requirement("oauth:document:ssrf")
async def test_a_host_the_operator_opened_is_read_and_no_other_one(opener: Opener, document: Published) -> None:
    flow = await ada_of(await opener(document, allow_hosts=[PUBLIC_NAME]))
    page = await flow.page(client_id=document.url)
    assert page.status == 200, page.body
    assert NAME in page.body
    assert PUBLIC_NAME in page.body, "who vouches for the name"
    assert (document.connections, document.paths) == (1, ["/client.json"])
    assert is_refused(await flow.page(client_id=f"https://{OTHER_NAME}:{document.port}/client.json"))
    assert document.connections == 1


@pytest.mark.requirement("oauth:document:ssrf", "oauth:document:rules")
async def test_a_redirect_to_a_private_address_is_not_followed(
    opener: Opener, document: Published, tmp_path: Path
) -> None:
    with published(tmp_path / "redirect", OPENED, redirect_to=document.url) as outside:
        flow = await ada_of(await opener(document, outside, allow_hosts=[OPENED]))
        assert is_refused(await flow.page(client_id=outside.url))
        assert outside.paths == ["/client.json"]
    assert document.connections == 0


@pytest.mark.requirement("oauth:document:rules")
async def test_a_redirect_to_a_document_that_could_be_read_is_not_followed_either(
    opener: Opener, tmp_path: Path
) -> None:
    """Otherwise anyone who can place a redirect on a host could pass for a client of that host."""
    with published(tmp_path / "moved", OPENED, redirect_to="/elsewhere.json") as moved:
        flow = await ada_of(await opener(moved, allow_hosts=[OPENED]))
        assert is_refused(await flow.page(client_id=moved.url))
        assert moved.paths == ["/client.json"]


@pytest.mark.requirement("oauth:document:ssrf", "oauth:document:assertion")
@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "opened"])
async def test_the_keys_a_document_names_are_fetched_under_the_same_guard(
    opener: Opener, document: Published, tmp_path: Path, is_open: bool
) -> None:
    keys = {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": f"https://{PUBLIC_NAME}:{document.port}/keys"}
    with published(tmp_path / "described", OPENED, **keys) as described:
        app = await opener(document, described, allow_hosts=[OPENED, *([PUBLIC_NAME] if is_open else [])])
        flow = await ada_of(app)
        assert (await flow.page(client_id=described.url)).status == 200
        answer = await flow.program.form("/oauth/token", {"grant_type": "x", **signed_by(described.url)})
    assert answer.error == (401, "invalid_client")
    assert document.paths == (["/keys"] if is_open else [])
    assert document.connections == (1 if is_open else 0)


def signed_by(client_id: str) -> dict[str, str]:
    key = RSAKey.generate_key(2048, {"kid": "1"})
    claims = {"iss": client_id, "sub": client_id, "aud": "http://localhost:8700/oauth/token", "exp": 4_000_000_000}
    return {
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode({"alg": "RS256", "kid": "1"}, claims, key, algorithms=["RS256"]),
    }


@pytest.mark.requirement("oauth:document:ssrf")
async def test_nobody_makes_this_server_fetch_before_a_login(opener: Opener, document: Published) -> None:
    app = await opener(document, allow_hosts=[PUBLIC_NAME])
    stranger = Flow(Program(front_of(app)), Browser(front_of(app)), document.url, REDIRECT)
    assert (await stranger.page()).status == 303
    assert (await stranger.redeem("x")).error == (401, "invalid_client")
    assert (await stranger.program.form("/oauth/device", {"client_id": document.url})).status == 401
    assert document.connections == 0
    await stranger.browser.log_in()
    assert (await stranger.page()).status == 200
    assert document.connections == 1


@pytest.mark.requirement("oauth:document:ssrf")
async def test_the_page_does_not_tell_what_is_at_a_private_address(opener: Opener, document: Published) -> None:
    flow = await ada_of(await opener(document))
    hosts = (f"localhost:{document.port}", "127.0.0.1", "169.254.169.254", "[::1]", "10.0.0.1", "unknown.example")
    pages = [await flow.page(client_id=f"https://{host}/client.json") for host in hosts]
    assert [page.status for page in pages] == [400] * len(hosts)
    texts = {re.sub(r'value="[^"]*"', "", page.body) for page in pages}
    assert len(texts) == 1, "what is there cannot be told from the page"
