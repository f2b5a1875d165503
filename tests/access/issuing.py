"""An issuer of tokens for the tests: real keys, real signatures, and a fetcher that serves its key set."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from pentad.kernel.errors import Unavailable
from pentad.kernel.ports import Fetched
from tests.fakes import UnusedFetcher

ISSUER = "https://login.example"
AUDIENCE = "https://pentad.example/mcp"
JWKS_URL = "https://login.example/jwks"
RSA = RSAKey.generate_key(2048, {"kid": "rsa-1", "use": "sig"})
EC = ECKey.generate_key("P-256", {"kid": "ec-1", "alg": "ES256"})
SECRET = OctKey.generate_key(256)


def claims(now: float, **changes: Any) -> dict[str, Any]:
    """Good claims, with some changed; None leaves one out."""
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": int(now) + 300, "iat": int(now), "scope": "*:read"}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def signed(body: dict[str, Any], key: Any = RSA, alg: str = "RS256", **header: Any) -> str:
    """A token signed with the key, its id in the header unless told otherwise."""
    named = {"alg": alg, "kid": key.kid, **header}
    present = {name: value for name, value in named.items() if value is not None}
    return jwt.encode(present, body, key, algorithms=[alg])


def segment(value: Any) -> str:
    """One part of a token, made by hand."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def key_set(*keys: Any) -> bytes:
    """The public key set, as an issuer serves it."""
    return json.dumps({"keys": [key.as_dict(private=False) for key in keys]}).encode()


class ServedKeys(UnusedFetcher):
    """A fetcher that serves one body and counts how often it was asked."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.status = 200
        self.is_down = False
        self.asked = 0

    async def fetch(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None,
        max_bytes: int | None = None, timeout: float | None = None, trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:  # fmt: skip
        assert (url, method, trusted) == (JWKS_URL, "GET", True)
        self.asked += 1
        if self.is_down:
            raise Unavailable("down")
        return Fetched(self.status, {}, self.body, url)
