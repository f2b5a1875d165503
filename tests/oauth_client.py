"""A plain OAuth client of a real Pentad: registers, sends a user to the server, redeems the code."""

import base64
import hashlib
import json
import secrets
import urllib.request
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.form_browser import FormBrowser

_SECONDS = 60.0


def register(site: str, redirect_uri: str) -> str:
    """The id of a new public client."""
    described = {"client_name": "Test", "redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none"}
    body = json.dumps(described).encode()
    return _json(urllib.request.Request(f"{site}/oauth/register", body, {"Content-Type": "application/json"}))[
        "client_id"
    ]


def access_token(site: str, path: str, scope: str, name: str, password: str) -> str:
    """A token for the endpoint at this path, after a login and a consent."""
    return log_in(site, path, scope, name, password)["access_token"]


def log_in(site: str, path: str, scope: str, name: str, password: str) -> dict[str, str]:
    """The tokens for the endpoint at this path, after a login and a consent, and the `client_id` they belong to."""
    redirect_uri, verifier = "http://127.0.0.1:9/callback", secrets.token_urlsafe(48)
    shared = {"client_id": register(site, redirect_uri), "redirect_uri": redirect_uri, "resource": site + path}
    left = FormBrowser().approve(authorization_url(site, scope, verifier, **shared), name, password)
    code = parse_qs(urlsplit(left).query)["code"][0]
    form = urlencode({**shared, "grant_type": "authorization_code", "code": code, "code_verifier": verifier})
    answer = _json(urllib.request.Request(f"{site}/oauth/token", form.encode()))
    return {**answer, "client_id": shared["client_id"]}


def authorization_url(site: str, scope: str, verifier: str, **asked: str) -> str:
    """The URL a client sends a user to, with its client_id, redirect_uri and resource."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    proof = {"response_type": "code", "scope": scope, "code_challenge": challenge, "code_challenge_method": "S256"}
    return f"{site}/oauth/authorize?{urlencode({**asked, **proof})}"


def _json(request: urllib.request.Request) -> Any:
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        return json.loads(answer.read())
