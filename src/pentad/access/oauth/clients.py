"""Clients: programs that request access. There are three kinds:

- registered (RFC 7591): anyone may register one, so its name is only a claim, and it expires if unused;
- described: its id is the https URL of a document that describes it (`metadata_documents.py`), so the URL's host
  vouches for it;
- built in: Pentad's own command line.

Registration is open, so it is limited per address and redirect host, and in total. Beyond the limit, never-used clients
are removed first, beginning with the address that has the most.
"""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec

from pentad.access.anonymous import AddressBuckets
from pentad.access.oauth import store
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.metadata_documents import (
    KNOWN,
    MOST_REDIRECTS,
    STALE_SECONDS,
    ClientMetadata,
    DocumentReader,
    clean_name,
    is_document_url,
)
from pentad.access.oauth.opaque_tokens import new_token
from pentad.access.oauth.redirects import redirect_host, redirect_problem
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.errors import NotFound
from pentad.kernel.ids import opaque_id, token_digest
from pentad.kernel.ports import Database, Fetcher, Row, Transaction

ClientKind = Literal["registered", "described", "built-in"]

CLI_ID: Final = "pentad-cli"
CODE_GRANT: Final = "authorization_code"
REFRESH_GRANT: Final = "refresh_token"
DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
GRANT_TYPES: Final = (CODE_GRANT, REFRESH_GRANT, DEVICE_GRANT)
SECRET_METHODS: Final = ("client_secret_basic", "client_secret_post")
LONGEST_SCOPE: Final = 2000
UNUSED_PER_HOST: Final = 200
"""Never-used clients of one redirect host, registered from one address."""
UNUSED_MOST: Final = 20_000
UNUSED_SECONDS: Final = 86_400.0
USED_SECONDS: Final = 90 * 86_400.0
REGISTRATIONS_PER_SECOND: Final = 2.0
REGISTRATIONS_AT_ONCE: Final = 60
_PRUNE_EVERY: Final = 60.0
_PRUNE_AFTER: Final = 100
_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SCOPE_TEXT: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e ]*")
_DOCUMENT_SOURCE: Final = "document"
"""The `address` of a described client, whose document this server fetched."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client, without its secret."""

    id: str
    kind: ClientKind
    metadata: ClientMetadata
    created_at: float = 0.0
    used_at: float | None = None
    secret: bytes | None = field(default=None, repr=False)
    """The SHA-256 of its secret; None for a public client."""

    @property
    def name(self) -> str:
        """The client's self-chosen name: only a claim, unless the client is built in."""
        return self.metadata.client_name or self.verified_host or self.id

    @property
    def redirect_uris(self) -> tuple[str, ...]:
        return self.metadata.redirect_uris

    @property
    def verified_host(self) -> str | None:
        """The host that vouches for a described client; None for any other."""
        return urlsplit(self.id).netloc if self.kind == "described" else None


CLI: Final = Client(CLI_ID, "built-in", ClientMetadata(client_name="Pentad command line", grant_types=GRANT_TYPES[1:]))


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """A client's credentials at the token endpoint; all empty for a public client."""

    secret: str | None = field(default=None, repr=False)
    assertion: str | None = field(default=None, repr=False)
    audiences: tuple[str, ...] = ()
    """The audiences accepted in a signed assertion: this server's token endpoint and issuer."""


class Clients:
    """The clients of one store. Without `reads_documents`, no documents are fetched, and only known described clients
    work."""

    def __init__(
        self,
        db: Database,
        fetcher: Fetcher,
        *,
        reads_documents: bool = True,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._db = db
        self._fetcher = fetcher
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()
        self._reads_documents = reads_documents
        self._documents = DocumentReader(fetcher, self._clock)
        self._rates = AddressBuckets(REGISTRATIONS_PER_SECOND, REGISTRATIONS_AT_ONCE, self._clock)
        self._since_pruned = 0
        self._prune_at = self._clock.monotonic()
        self._assertions: Any = None

    async def register(self, document: object, *, address: str) -> tuple[Client, str | None]:
        """Register a client from the body of a request; returns it and its secret, if it has one.

        URLs in the registration are not fetched, and metadata that Pentad does not use is not stored.
        """
        metadata = _checked(document)
        host = redirect_host(metadata.redirect_uris[0]) if metadata.redirect_uris else ""
        host = re.sub(r":[0-9]+$", "", host)
        if self._rates.spend(f"{address} {host}"):
            raise OAuthError("temporarily_unavailable", "Too many registrations. Try again in a minute.")
        is_secret = metadata.token_endpoint_auth_method in SECRET_METHODS
        secret = new_token("secret", self._randomness) if is_secret else None
        client = Client(
            f"client-{opaque_id(self._randomness, 16)}",
            "registered",
            metadata,
            self._clock.now(),
            secret=None if secret is None else token_digest(secret),
        )

        def work(tx: Transaction) -> None:
            store.add_client(tx, client.id, _encoded(metadata), client.secret, host, address, client.created_at)
            store.trim_unused(tx, address, host, UNUSED_PER_HOST)

        await self._db.write(work)
        await self._prune()
        return client, secret

    async def find(self, client_id: str, *, fetch: bool = False) -> Client | None:
        """A client by its id. With `fetch`, reads a described client's document if it is unknown or stale.

        Do that only on behalf of a logged-in user: strangers must not be able to trigger fetches. Raises
        OAuthError if the document cannot be read or breaks the rules.
        """
        if client_id == CLI_ID:
            return CLI
        if _CLIENT_ID.fullmatch(client_id):
            row = await self._db.lookup(store.CLIENT, client_id)
            return None if row is None else _client(row)
        if not is_document_url(client_id):
            return None
        row = await self._db.lookup(store.CLIENT, client_id)
        now = self._clock.now()
        fetch = fetch and self._reads_documents
        if row is not None and (not fetch or now < (row[5] or 0.0)):
            return _client(row)
        if not fetch:
            known = KNOWN.get(client_id)
            return None if known is None else Client(client_id, "described", known)
        try:
            found = await self._documents.read(client_id)
        except OAuthError:
            if row is not None and now < (row[5] or 0.0) + STALE_SECONDS:
                return _client(row)
            raise
        created_at = now if row is None else row[3]
        text, host = _encoded(found.metadata), urlsplit(client_id).netloc

        def work(tx: Transaction) -> None:
            store.put_document(tx, client_id, text, host, _DOCUMENT_SOURCE, now, now + found.fresh_seconds)
            store.trim_unused(tx, _DOCUMENT_SOURCE, host, UNUSED_PER_HOST)

        await self._db.write(work)
        return Client(client_id, "described", found.metadata, created_at, None if row is None else row[4])

    async def authenticate(self, client_id: str, given: ClientCredentials) -> Client:
        """The authenticated client; raises OAuthError `invalid_client`."""
        client = await self.find(client_id)
        if client is None:
            raise OAuthError("invalid_client", "There is no such client. Register again.")
        if client.secret is not None:
            if given.secret is None or not hmac.compare_digest(client.secret, token_digest(given.secret)):
                raise OAuthError("invalid_client", "The client secret is missing or wrong.")
        elif given.assertion is not None and client.metadata.has_keys:
            await self._check_assertion(client, given)
        elif not client.metadata.may_be_public:
            raise OAuthError("invalid_client", "This client must send a signed assertion (private_key_jwt).")
        return client

    async def all(self) -> list[Client]:
        """Every stored client, newest first."""
        return [_client(row) for row in await self._db.read(store.all_clients)]

    async def remove(self, client_id: str) -> None:
        """Forget a client. Its grants are revoked separately (`Grants.revoke_client`)."""
        is_id = _CLIENT_ID.fullmatch(client_id) or is_document_url(client_id)
        if not is_id or not await self._db.write(lambda tx: store.remove_client(tx, client_id)):
            raise NotFound(f"There is no client {client_id[:80]!r}.", hint="List the clients to see their ids.")

    async def prune(self) -> None:
        """Remove long-unused clients without a live grant, and never-used ones beyond the limit."""
        now = self._clock.now()
        await self._db.write(
            lambda tx: store.prune_clients(
                tx, now, unused_before=now - UNUSED_SECONDS, used_before=now - USED_SECONDS, most=UNUSED_MOST
            )
        )

    async def _prune(self) -> None:
        self._since_pruned += 1
        if self._clock.monotonic() >= self._prune_at or self._since_pruned >= _PRUNE_AFTER:
            self._prune_at, self._since_pruned = self._clock.monotonic() + _PRUNE_EVERY, 0
            await self.prune()

    async def _check_assertion(self, client: Client, given: ClientCredentials) -> None:
        if self._assertions is None:
            from pentad.access.oauth.client_assertions import ClientAssertions

            self._assertions = ClientAssertions(self._fetcher, self._clock)
        await self._assertions.check(client.id, client.metadata, given.assertion, given.audiences)


def registration_answer(client: Client, secret: str | None) -> dict[str, Any]:
    """The response to a registration (RFC 7591, 3.2.1): everything that was registered, without nulls."""
    metadata = client.metadata
    answer: dict[str, Any] = {
        "client_id": client.id,
        "client_id_issued_at": int(client.created_at),
        "redirect_uris": list(metadata.redirect_uris),
        "token_endpoint_auth_method": metadata.token_endpoint_auth_method,
        "grant_types": list(metadata.grant_types),
        "response_types": ["code"] if CODE_GRANT in metadata.grant_types else [],
    }
    optional = {
        "client_name": metadata.client_name,
        "scope": metadata.scope,
        "application_type": metadata.application_type,
    }
    answer |= {name: value for name, value in optional.items() if value}
    if secret is not None:
        answer |= {"client_secret": secret, "client_secret_expires_at": 0}
    return answer


def _checked(document: object) -> ClientMetadata:
    """The metadata of a registration request that Pentad uses."""
    if not isinstance(document, dict):
        raise _bad_metadata("The body must be a JSON object.")
    given = cast("dict[str, Any]", document)
    method = given.get("token_endpoint_auth_method") or "client_secret_basic"
    if method not in ("none", *SECRET_METHODS):
        raise _bad_metadata("token_endpoint_auth_method must be none, client_secret_basic or client_secret_post.")
    asked = _texts(given, "grant_types", most=50)
    grants = tuple(one for one in GRANT_TYPES if one in (asked or GRANT_TYPES[:2]))
    if not set(grants) - {REFRESH_GRANT}:
        raise _bad_metadata("grant_types must contain authorization_code or the device grant.")
    if (responses := _texts(given, "response_types", most=50)) and "code" not in responses:
        raise _bad_metadata("response_types must contain code.")
    uris = _texts(given, "redirect_uris", most=MOST_REDIRECTS, error="invalid_redirect_uri")
    if not uris and (CODE_GRANT in asked or DEVICE_GRANT not in asked):
        raise OAuthError("invalid_redirect_uri", "redirect_uris is missing.")
    for uri in uris:
        if (problem := redirect_problem(uri)) is not None:
            raise OAuthError("invalid_redirect_uri", problem)
    return ClientMetadata(
        client_name=clean_name(_text(given, "client_name")),
        redirect_uris=uris,
        token_endpoint_auth_method=method,
        grant_types=grants,
        scope=_scope(given),
        application_type=kind if (kind := _text(given, "application_type")) in ("web", "native") else "",
    )


def _scope(given: Mapping[str, Any]) -> str:
    scope = _text(given, "scope")
    if len(scope) > LONGEST_SCOPE or not _SCOPE_TEXT.fullmatch(scope):
        raise _bad_metadata("scope is too long or has invalid characters.")
    return scope


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise _bad_metadata(f"{name} is a text.")
    return value or ""


def _texts(
    given: Mapping[str, Any], name: str, *, most: int, error: str = "invalid_client_metadata"
) -> tuple[str, ...]:
    value = given.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise OAuthError(error, f"{name} is a list of texts.")
    items = cast("list[Any]", value)
    if len(items) > most or not all(isinstance(one, str) for one in items):
        raise OAuthError(error, f"{name} is a list of at most {most} texts.")
    return tuple(dict.fromkeys(cast("list[str]", items)))


def _bad_metadata(text: str) -> OAuthError:
    return OAuthError("invalid_client_metadata", text)


def _encoded(metadata: ClientMetadata) -> str:
    return msgspec.json.encode(metadata).decode("utf-8")


def _client(row: Row) -> Client:
    client_id, metadata, secret, created_at, used_at, fresh_until = row
    return Client(
        client_id,
        "registered" if fresh_until is None else "described",
        msgspec.json.decode(metadata, type=ClientMetadata),
        created_at,
        used_at,
        None if secret is None else bytes(secret),
    )
