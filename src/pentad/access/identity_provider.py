"""Login with the company's identity provider: an OpenID Connect client.

The browser is sent to the provider with a state, a nonce and a PKCE challenge, and comes back with a code. Each attempt
is stored once, bound to the browser session that began it, and used up by the first answer. The code is exchanged for
an ID token, which must be signed by the provider for this client and this attempt. The provider's tokens are used for
that and then dropped: they are neither stored nor passed on.
"""

import base64
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from pentad.access.provider_endpoints import ProviderEndpoints, ProviderMetadata
from pentad.access.tokens import RefusedToken, claim_at, words_of
from pentad.access.user_identities import IdentityProvider, LoginRefused, ProvenIdentity
from pentad.kernel import base64url
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.ids import token_digest
from pentad.kernel.ports import Database, Fetcher, Transaction

ATTEMPT_SECONDS: Final = 600.0
_LONGEST_SUBJECT: Final = 255
_LONGEST_PARAMETER: Final = 4_000


class _Tokens(msgspec.Struct):
    """The fields that Pentad uses of a token response."""

    id_token: str
    access_token: str = ""


class _Attempt(msgspec.Struct):
    """A login in progress."""

    session: str
    nonce: str
    verifier: str
    next_path: str
    callback: str


class ProviderLogins:
    """Sends browsers to the provider and verifies the responses they bring back."""

    def __init__(
        self,
        provider: IdentityProvider,
        db: Database,
        fetcher: Fetcher,
        *,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self.provider = provider
        self._db = db
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()
        self.endpoints = ProviderEndpoints(provider, fetcher, clock=clock)

    async def begin(self, session: str, callback: str, next_path: str) -> str:
        """The provider's URL to send the browser to. `callback` is the URL it returns to."""
        metadata = await self.endpoints.metadata()
        state, nonce, verifier = self._random(), self._random(), self._random()
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            tx.run("DELETE FROM provider_logins WHERE expires_at <= ?", now)
            tx.run(
                "INSERT INTO provider_logins (digest, session, nonce, verifier, next_path, callback, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                token_digest(state), session, nonce, verifier, next_path, callback, now + ATTEMPT_SECONDS,
            )  # fmt: skip

        await self._db.write(work)
        asked = {
            "response_type": "code",
            "client_id": self.provider.client_id,
            "redirect_uri": callback,
            "scope": " ".join(self.provider.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": base64url.encode(token_digest(verifier)),
            "code_challenge_method": "S256",
        }
        sign = "&" if urlsplit(metadata.authorization_endpoint).query else "?"
        return metadata.authorization_endpoint + sign + urlencode(asked)

    async def finish(self, session: str, answer: Sequence[tuple[str, str]]) -> ProvenIdentity:
        """The identity proven by the callback's parameters; LoginRefused if there is none."""
        given = dict(answer)
        if len(given) != len(answer) or any(len(value) > _LONGEST_PARAMETER for value in given.values()):
            raise _out_of_place("parameters")
        attempt = await self._use_attempt(given.get("state", ""))
        if attempt is None:
            raise _out_of_place("state")
        if not hmac.compare_digest(attempt.session, session):
            raise _out_of_place("browser")
        metadata = await self.endpoints.metadata()
        issuer = given.get("iss")
        if issuer != self.provider.issuer and (issuer or metadata.authorization_response_iss_parameter_supported):
            raise _out_of_place("issuer")
        if "error" in given:
            said = " ".join(given["error"].split())[:100]
            raise LoginRefused(f"{self.provider.name} did not log you in ({said}).", "provider", said)
        if not given.get("code"):
            raise _out_of_place("code")
        tokens = await self._exchange(metadata, given["code"], attempt)
        claims = await self._verified_claims(tokens.id_token, attempt.nonce)
        if claim_at(claims, self.provider.groups_claim) is None:
            claims = {**await self._userinfo(metadata, tokens.access_token, claims["sub"]), **claims}
        return self._identity(claims, attempt.next_path)

    async def _use_attempt(self, state: str) -> _Attempt | None:
        """Take the attempt a state belongs to. It is deleted, whatever the outcome."""
        digest, now = token_digest(state), self._clock.now()

        def work(tx: Transaction) -> _Attempt | None:
            row = tx.one(
                "SELECT session, nonce, verifier, next_path, callback, expires_at FROM provider_logins"
                " WHERE digest = ?",
                digest,
            )
            used = tx.run("DELETE FROM provider_logins WHERE digest = ?", digest)
            return _Attempt(*row[:5]) if row is not None and used == 1 and row[5] > now else None

        return await self._db.write(work) if state else None

    async def _exchange(self, metadata: ProviderMetadata, code: str, attempt: _Attempt) -> _Tokens:
        body = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": attempt.callback,
            "code_verifier": attempt.verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        secret = self.provider.client_secret
        if secret is not None and "client_secret_post" not in metadata.token_endpoint_auth_methods_supported:
            pair = f"{quote(self.provider.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
        else:
            body["client_id"] = self.provider.client_id
            if secret is not None:
                body["client_secret"] = secret
        fetched = await self.endpoints.fetch(metadata.token_endpoint, "POST", headers, urlencode(body).encode())
        if fetched is None:
            raise LoginRefused(
                f"{self.provider.name} did not confirm the login.", "code", "The provider refused the code.",
                hint="Try again. If it keeps happening, the operator should check login.provider.client_secret.",
            )  # fmt: skip
        try:
            return msgspec.json.decode(fetched, type=_Tokens)
        except msgspec.MsgspecError:
            raise LoginRefused(
                f"{self.provider.name} did not confirm the login.", "id_token", "The response has no ID token."
            ) from None

    async def _verified_claims(self, id_token: str, nonce: str) -> Mapping[str, Any]:
        claims = await self.endpoints.tokens.claims(id_token)
        if isinstance(claims, RefusedToken):
            raise self._bad_token(claims.reason, claims.text)
        given, authorized, audience = claims.get("nonce"), claims.get("azp"), claims.get("aud")
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
            raise self._bad_token("nonce", "Its nonce is not the one that was sent.")
        if authorized != self.provider.client_id and (authorized is not None or _has_several(audience)):
            raise self._bad_token("azp", "It was issued to another client.")
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
            raise self._bad_token("sub", "Its sub is not a short printable text.")
        return claims

    def _bad_token(self, reason: str, text: str) -> LoginRefused:
        return LoginRefused(f"{self.provider.name} did not prove who you are.", reason, f"ID token: {text}")

    async def _userinfo(self, metadata: ProviderMetadata, access_token: str, subject: str) -> Mapping[str, Any]:
        """The claims of the userinfo endpoint, if they are about the same person."""
        if metadata.userinfo_endpoint is None or not access_token:
            return {}
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
        fetched = await self.endpoints.fetch(metadata.userinfo_endpoint, "GET", headers, None)
        try:
            found = msgspec.json.decode(fetched or b"{}", type=dict[str, Any])
        except msgspec.MsgspecError:
            return {}
        return found if found.get("sub") == subject else {}

    def _identity(self, claims: Mapping[str, Any], next_path: str) -> ProvenIdentity:
        email, name = claims.get("email"), claims.get("preferred_username")
        verified = email if isinstance(email, str) and claims.get("email_verified") is True else None
        if self.provider.domains and (verified or "").rpartition("@")[2].lower() not in self.provider.domains:
            raise LoginRefused(
                "Your e-mail address is not in a domain that may log in here.", "domain",
                hint="Log in with your company account, or ask the operator of this server.",
            )  # fmt: skip
        known = [one for one in (name, email, claims["sub"]) if isinstance(one, str) and one.strip()]
        groups = tuple(words_of(claim_at(claims, self.provider.groups_claim)))
        return ProvenIdentity(self.provider.issuer, claims["sub"], groups, known[0], verified, next_path)

    def _random(self) -> str:
        return base64url.encode(self._randomness.token_bytes(32))


def _out_of_place(reason: str) -> LoginRefused:
    return LoginRefused(
        "This response does not belong to a login that this browser started.", reason, hint="Start again at /login."
    )


def _has_several(audience: object) -> bool:
    return isinstance(audience, list) and audience != audience[:1]
