"""A small OpenID provider on this machine, strict about its clients, whose answers a test can spoil."""

import base64
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

from tests.access.http_responder import Answer, responding
from tests.access.issuing import RSA, key_set, signed

Object = dict[str, Any]


@dataclass
class OidcProvider:
    """Knows one client. `claims` go into the ID token, `userinfo` is told at that endpoint only."""

    port: int = 0
    client_id: str = "pentad"
    client_secret: str | None = "the client's secret: ü%"
    claims: Object = field(default_factory=dict[str, Any])
    userinfo: Object = field(default_factory=dict[str, Any])
    metadata: Object = field(default_factory=dict[str, Any])
    """Changes of the discovery document; None leaves a field out."""
    spoil: Callable[[Object], Any] = lambda claims: claims
    """Changes the claims of the next ID token."""
    sign: Callable[[Object], str] = signed
    sends_iss: bool = True
    asked: list[str] = field(default_factory=list[str])
    access_tokens: list[str] = field(default_factory=list[str])
    is_down: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log_in(self, location: str, subject: str = "0001", **claims: Any) -> str:
        """What a person does there: returns the path and query of the callback the browser is sent to."""
        asked = urlsplit(location)
        assert f"{asked.scheme}://{asked.netloc}" == self.issuer
        given = {name: value for name, (value,) in parse_qs(asked.query, strict_parsing=True).items()}
        assert (given["response_type"], given["client_id"]) == ("code", self.client_id)
        assert given["code_challenge_method"] == "S256"
        assert "openid" in given["scope"].split()
        self.claims = {"sub": subject, **claims}
        code = f"code-{len(self.codes)}-secret"
        self.codes[code] = given
        answer = {"code": code, "state": given["state"], **({"iss": self.issuer} if self.sends_iss else {})}
        back = urlsplit(given["redirect_uri"])
        return f"{back.path}?{urlencode(answer)}"

    def document(self) -> Object:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/jwks",
            "authorization_response_iss_parameter_supported": self.sends_iss,
            **self.metadata,
        }
        return {name: value for name, value in found.items() if value is not None}

    def answer(self, path: str, headers: dict[str, str], body: str) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.is_down:
            return 503, b""
        if path == "/.well-known/openid-configuration":
            return 200, json.dumps(self.document()).encode()
        if path == "/jwks":
            return 200, key_set(RSA)
        if path == "/token":
            return self._token(headers, dict(parse_qsl(body)))
        if path == "/userinfo" and headers.get("authorization", "").removeprefix("Bearer ") in self.access_tokens:
            return 200, json.dumps({"sub": self.claims["sub"], **self.userinfo}).encode()
        return 401, b"{}"

    def _token(self, headers: dict[str, str], given: dict[str, str]) -> tuple[int, bytes]:
        asked = self.codes.pop(given.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given.get("code_verifier", "").encode()).digest())
        if (
            asked is None
            or not self._is_client(headers, given)
            or asked["redirect_uri"] != given.get("redirect_uri")
            or asked["code_challenge"] != challenge.rstrip(b"=").decode()
        ):
            return 400, b'{"error": "invalid_grant"}'
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": self.client_id, "exp": now + 300, "iat": now, "nonce": asked["nonce"]}
        token = self.sign(self.spoil({**usual, **self.claims}))
        self.access_tokens.append(f"upstream-access-{now}-{len(self.access_tokens)}")
        body = {"id_token": token, "access_token": self.access_tokens[-1], "refresh_token": "upstream-refresh-secret"}
        return 200, json.dumps({**body, "token_type": "Bearer", "expires_in": 300}).encode()

    def _is_client(self, headers: dict[str, str], given: dict[str, str]) -> bool:
        if self.client_secret is None:
            return given.get("client_id") == self.client_id
        if "client_secret" in given:
            return (given["client_id"], given["client_secret"]) == (self.client_id, self.client_secret)
        pair = base64.b64decode(headers.get("authorization", "").removeprefix("Basic ")).decode()
        return tuple(map(unquote, pair.split(":"))) == (self.client_id, self.client_secret)


@asynccontextmanager
async def oidc_provider() -> AsyncGenerator[OidcProvider]:
    """The provider, while the block runs."""
    made = OidcProvider()

    def answer(path: str, headers: dict[str, str], body: str) -> Answer:
        status, content = made.answer(path, headers, body)
        return status, {"Content-Type": "application/json"}, content

    async with responding(answer) as made.port:
        yield made
