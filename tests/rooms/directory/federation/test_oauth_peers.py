"""Following a peer with OAuth client credentials from a local issuer that the peer accepts."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.federation.peers import PeerCredentials, PeerFilters
from pentad.settings.model import TokenSettings
from tests.access.http_responder import Answer, responding
from tests.access.issuing import RSA, claims, key_set, signed
from tests.rooms.directory.interface.grpc.site import Site, open_site
from tests.rooms.directory.records.parts import agent
from tests.waiting import until

pytestmark = pytest.mark.anyio

SECRET = "the secret of the client"
AUDIENCE = "directory.acme.example"


@dataclass
class Issuer:
    """Knows one client, and gives it tokens for a directory."""

    port: int = 0
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, _headers: dict[str, str], body: str) -> Answer:
        kind = {"Content-Type": "application/json"}
        if path == "/jwks":
            return 200, kind, key_set(RSA)
        if path == "/.well-known/openid-configuration":
            about = {
                "issuer": self.url,
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
            return 200, kind, json.dumps(about).encode()
        form = dict(parse_qsl(body))
        self.asked.append(form)
        known = {"grant_type": "client_credentials", "client_id": "follower", "client_secret": SECRET}
        if path != "/token" or any(form.get(name) != value for name, value in known.items()):
            return 401, kind, b'{"error": "invalid_client"}'
        body_of = claims(time.time(), iss=self.url, aud=form["audience"], sub="follower", scope=form["scope"])
        return 200, kind, json.dumps({"access_token": signed(body_of), "expires_in": 300}).encode()


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    made = Issuer()
    async with responding(made.answer) as made.port:
        yield made


@pytest.fixture
async def a(tmp_path: Path, issuer: Issuer) -> AsyncIterator[Site]:
    accepted = TokenSettings(issuer=issuer.url, audience=(AUDIENCE,), jwks_url=f"{issuer.url}/jwks")
    async with open_site(tmp_path / "a", auth="required", jwt=accepted) as site:
        yield site


@pytest.fixture
async def b(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path / "b", auth="required") as site:
        yield site


async def follow(site: Site, other: Site, issuer: Issuer, **changes: str) -> None:
    given = {"client_id": "follower", "client_secret": SECRET, "scopes": "directory:read", "audience": AUDIENCE}
    credentials = PeerCredentials(**{"issuer": issuer.url, **given, **changes})
    await site.directory.peers.add(LOCAL, "acme", other.address, credentials, PeerFilters())


@pytest.mark.requirement("dir:federation:credentials")
async def test_a_peer_is_followed_with_client_credentials(a: Site, b: Site, issuer: Issuer) -> None:
    cid = (await a.directory.records.push(LOCAL, agent())).cid
    await follow(b, a, issuer)
    await until(lambda: b.directory.records.known([cid]), lambda known: known == {cid})
    assert (issuer.asked[0]["scope"], issuer.asked[0]["audience"]) == ("directory:read", AUDIENCE)
    (shown,) = await b.directory.peers.states()
    assert shown.as_json()["auth"] == "oauth"
    assert SECRET not in str(shown.as_json())


@pytest.mark.requirement("dir:federation:credentials", "dir:federation:failures")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"client_secret": "another"}, "invalid_client"), ({"scopes": "registers:read"}, "not allowed")],
)
async def test_a_peer_whose_credentials_do_not_suffice_says_so(
    a: Site, b: Site, issuer: Issuer, changes: dict[str, str], reason: str
) -> None:
    await follow(b, a, issuer, **changes)
    (failing,) = await until(b.directory.peers.states, lambda found: found[0].peer.status == "failing")
    problem = failing.as_json()["problem"]
    assert reason in problem
    assert "DIRECTORY_CLIENT" not in problem, "the settings of another connection are not at fault"
    assert SECRET not in problem
