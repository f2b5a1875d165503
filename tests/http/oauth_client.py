"""An OAuth client for tests: registers, sends a user to consent, redeems, refreshes, over HTTP without sockets."""

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pentad.http.front import Front
from tests.behaviour.http_wire import HttpAnswer, send
from tests.http.browsing import Browser, Page

REDIRECT = "https://client.example/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
SITE = "http://localhost:8700"
FORM = "application/x-www-form-urlencoded"


@dataclass
class Answer:
    """The answer to a program."""

    http: HttpAnswer
    body: bytes

    @property
    def status(self) -> int:
        return self.http.status

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        return self.status, self.json["error"]


@dataclass
class Program:
    """A client that is not a browser."""

    front: Front
    host: str = "localhost:8700"
    address: str = "198.51.100.9"

    async def send(self, verb: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        given = {"host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body:
            given["content-length"] = str(len(body))
        answer = send(self.front, verb, path, given, body, self.address)
        return Answer(answer, await answer.body())

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.send("GET", path, b"", **headers)

    async def form(self, path: str, fields: dict[str, Any] | list[tuple[str, str]], **headers: str) -> Answer:
        pairs = fields if isinstance(fields, list) else [(name, str(v)) for name, v in fields.items() if v is not None]
        return await self.send("POST", path, urlencode(pairs).encode(), content_type=FORM, **headers)

    async def register(self, **document: Any) -> dict[str, Any]:
        body = {"client_name": "Probe", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", **document}
        answer = await self.send("POST", "/oauth/register", json.dumps(body).encode(), content_type="application/json")
        assert answer.status == 201, answer.body
        return answer.json

    async def mcp(self, token: str, path: str = "/mcp") -> Answer:
        """A call of `tools/list`, as a modern client sends it."""
        version = "2026-07-28"
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        return await self.send(
            "POST",
            path,
            json.dumps(body).encode(),
            content_type="application/json",
            accept="application/json, text/event-stream",
            authorization=f"Bearer {token}",
            mcp_protocol_version=version,
            mcp_method="tools/list",
        )


@dataclass
class Flow:
    """A login of one client through one browser."""

    program: Program
    browser: Browser
    client_id: str
    redirect_uri: str = REDIRECT
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    def url(self, *more: tuple[str, str], path: str = "/oauth/authorize", **changes: Any) -> str:
        given: dict[str, Any] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "st&te=1",
            "scope": "lab:read",
            "resource": f"{SITE}/mcp",
            **self.changes,
            **changes,
        }
        pairs = [(name, str(value)) for name, value in given.items() if value is not None]
        return f"{path}?{urlencode([*pairs, *more])}"

    async def page(self, *more: tuple[str, str], **changes: Any) -> Page:
        return await self.browser.get(self.url(*more, **changes))

    async def decide(self, page: Page, decision: str = "allow", **changes: Any) -> Page:
        return await self.browser.post("/oauth/authorize", consent_fields(page, decision, **changes))

    async def code(self, **changes: Any) -> str:
        page = await self.page(**changes)
        answered = page if page.status == 303 else await self.decide(page)
        assert answered.status == 303, answered.body
        return answer_of(answered)["code"]

    async def redeem(self, code: str, **changes: Any) -> Answer:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": VERIFIER,
            **changes,
        }
        return await self.program.form("/oauth/token", fields)

    async def refresh(self, token: str, **changes: Any) -> Answer:
        fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client_id, **changes}
        return await self.program.form("/oauth/token", fields)

    async def tokens(self, **changes: Any) -> dict[str, Any]:
        answer = await self.redeem(await self.code(**changes))
        assert answer.status == 200, answer.body
        return answer.json


def consent_fields(page: Page, decision: str = "allow", **changes: Any) -> list[tuple[str, str]]:
    """What a browser sends if the user changes nothing; `scope` replaces the ticked boxes."""
    boxes = re.findall(r'<input[^>]*type="checkbox"[^>]*>', page.body)
    ticked = [html.unescape(re.findall(r'value="([^"]*)"', box)[0]) for box in boxes if " checked" in box]
    scopes = changes.pop("scope", ticked)
    fields = {"csrf": page.hidden("csrf"), "sealed": page.hidden("sealed"), "decision": decision, **changes}
    return [*[("scope", one) for one in scopes], *fields.items()]


def answer_of(page: Page) -> dict[str, str]:
    """The parameters at the redirect URI, each exactly once."""
    assert page.location is not None
    pairs = parse_qsl(urlsplit(page.location).query)
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)
