"""Grants without the login and consent pages, for tests about something else."""

from dataclasses import dataclass

from pentad.access.oauth.grants import Consent
from pentad.app import App
from tests.access.oauth.opening import CHALLENGE, VERIFIER

REDIRECT = "https://client.example/callback"


@dataclass(frozen=True)
class Granted:
    """A client that acts for a user: the ids of client and grant, and an access token."""

    client: str
    grant: str
    token: str


async def make_grant(app: App, user: str, name: str = "Claude") -> Granted:
    """Register a client and let the user grant it everything except writing."""
    document = {"client_name": name, "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    client, _ = await app.oauth_clients.register(document, address="192.0.2.1")
    expiry = app.clock.now() + 1_000
    consent = Consent(user, client.id, client.name, frozenset({"*:read", "*:admin"}), "/", expiry)
    code = await app.grants.make_code(consent, redirect_uri=REDIRECT, challenge=CHALLENGE)
    issued = await app.grants.redeem(code, client, redirect_uri=REDIRECT, verifier=VERIFIER)
    return Granted(client.id, issued.grant.id, issued.access)
