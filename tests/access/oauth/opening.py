"""What the tests of the authorization server share: its services over a store, a user, a client, a code."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pentad.access.api_keys import ApiKeys
from pentad.access.credential_cache import CredentialCache
from pentad.access.credentials import Authenticator
from pentad.access.oauth.clients import Client, Clients
from pentad.access.oauth.device import DeviceCodes
from pentad.access.oauth.grants import Consent, Grant, Grants, IssuedTokens, Lifetimes
from pentad.access.passwords import HashCost, Passwords
from pentad.access.users import Users
from pentad.kernel.errors import Unavailable
from pentad.kernel.ports import Database, Fetched
from tests.access.clocks import TurnedClock
from tests.fakes import UnusedFetcher

VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REDIRECT = "https://client.example/callback"


class Documents(UnusedFetcher):
    """The web: documents by URL; anything else is unreachable."""

    def __init__(self) -> None:
        self.pages: dict[str, Fetched] = {}
        self.asked: list[str] = []

    def put(
        self, url: str, document: Any, *, status: int = 200, kind: str = "application/json", **headers: str
    ) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[url] = Fetched(status, {"content-type": kind, **named}, body, url)

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None,
        max_bytes: int | None = None, timeout: float | None = None, trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:  # fmt: skip
        assert not trusted
        assert not follow_redirects
        assert max_bytes is not None
        self.asked.append(url)
        if url not in self.pages:
            raise Unavailable("Nobody is there.")
        return self.pages[url]


class Opened:
    """The authorization server over one store, with the user Ada, a writer."""

    def __init__(self, db: Database, *, lifetimes: Lifetimes | None = None) -> None:
        self.db = db
        self.clock = TurnedClock()
        self.web = Documents()
        self.changed: list[str] = []
        self.stolen: list[tuple[Grant, str]] = []
        self.clients = Clients(db, self.web, clock=self.clock)
        self.grants = Grants(
            db,
            lifetimes=lifetimes,
            on_change=self.changed.append,
            report=lambda grant, why: self.stolen.append((grant, why)),
            clock=self.clock,
        )
        self.devices = DeviceCodes(db, self.grants, clock=self.clock)

    def users(self) -> Users:
        return Users(self.db, Passwords(HashCost(memory_kib=8, passes=1)), clock=self.clock)

    async def add_user(self, name: str = "Ada", role: str = "writer") -> None:
        await self.users().add(name, "not-a-real-password", role=role)

    async def client(self, *uris: str, name: str = "Probe", method: str = "none") -> Client:
        body = {"client_name": name, "redirect_uris": list(uris or (REDIRECT,)), "token_endpoint_auth_method": method}
        return (await self.clients.register(body, address="192.0.2.1"))[0]

    async def code(self, client: Client, *scopes: str, resources: str = "/mcp", user: str = "Ada") -> str:
        consent = Consent(
            user, client.id, client.name, frozenset(scopes or ("*:read",)), resources, self.grants.grant_until()
        )
        return await self.grants.make_code(consent, redirect_uri=REDIRECT, challenge=CHALLENGE)

    async def redeem(self, code: str, client: Client, **changes: Any) -> IssuedTokens:
        given: dict[str, Any] = {"redirect_uri": REDIRECT, "verifier": VERIFIER, **changes}
        return await self.grants.redeem(code, client, **given)

    async def tokens(self, client: Client, *scopes: str, resources: str = "/mcp") -> IssuedTokens:
        return await self.redeem(await self.code(client, *scopes, resources=resources), client)

    def authenticator(self, db: Database | None = None) -> Authenticator:
        db = db or self.db
        cache = CredentialCache(clock=self.clock)
        grants = Grants(db, on_change=cache.forget, clock=self.clock)
        users = Users(db, Passwords(HashCost(memory_kib=8, passes=1)), on_change=cache.forget, clock=self.clock)
        keys = ApiKeys(db, on_change=cache.forget, clock=self.clock)
        return Authenticator(users, keys, cache, grants=grants, clock=self.clock)
