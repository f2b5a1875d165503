"""Client ID metadata documents: a client whose id is an https URL, described by the JSON document at that URL.

The URL comes from a stranger, so it is fetched through the address guard, without redirects, up to 5 KB, and at a
limited rate per host and in total, so that this server cannot be used to flood another. Errors are not cached, but a
URL that failed is not fetched again for a while. The browser is not told what went wrong, because that would let it
probe our network.
"""

import asyncio
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec

from pentad.access.anonymous import AddressBuckets
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.redirects import redirect_problem
from pentad.access.single_flight import SingleFlight
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError
from pentad.kernel.lru import LruCache
from pentad.kernel.ports import Fetched, Fetcher

MOST_BYTES: Final = 5 * 1024
MOST_REDIRECTS: Final = 20
FETCH_SECONDS: Final = 5.0
SHORTEST_FRESH: Final = 300.0
USUAL_FRESH: Final = 3600.0
LONGEST_FRESH: Final = 86_400.0
STALE_SECONDS: Final = 7 * 86_400.0
FAILED_SECONDS: Final = 30.0
AT_ONCE: Final = 4
LONGEST_NAME: Final = 100
_LONGEST_URL: Final = 500
_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=([0-9]{1,9})(?:$|[,\s])")
_URL: Final = re.compile(r"https://[\x21-\x7e]+")
_ASSERTION: Final = "private_key_jwt"


class ClientMetadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of a client's metadata (RFC 7591) that Pentad uses."""

    client_name: str = ""
    redirect_uris: tuple[str, ...] = ()
    token_endpoint_auth_method: str = "none"  # noqa: S105  the name of a method
    grant_types: tuple[str, ...] = ()
    scope: str = ""
    application_type: str = ""
    may_be_public: bool = True
    """Whether it may redeem codes without authenticating."""
    jwks_uri: str | None = None
    jwks: dict[str, Any] | None = None

    @property
    def has_keys(self) -> bool:
        return self.jwks_uri is not None or self.jwks is not None


def _known(name: str, *redirect_uris: str, jwks_uri: str | None = None) -> ClientMetadata:
    return ClientMetadata(client_name=name, redirect_uris=redirect_uris, jwks_uri=jwks_uri)


KNOWN: Final[Mapping[str, ClientMetadata]] = {
    "https://claude.ai/oauth/mcp-oauth-client-metadata": _known("Claude", "https://claude.ai/api/mcp/auth_callback"),
    "https://claude.ai/oauth/claude-code-client-metadata": _known(
        "Claude Code", "http://localhost/callback", "http://127.0.0.1/callback"
    ),
    "https://chatgpt.com/oauth/client.json": _known(
        "ChatGPT",
        "https://chatgpt.com/connector_platform_oauth_redirect",
        jwks_uri="https://chatgpt.com/oauth/jwks.json",
    ),
    "https://chatgpt.com/oauth/codex/client.json": _known(
        "Codex", "http://127.0.0.1/callback", "http://localhost/callback"
    ),
    "https://vscode.dev/oauth/client-metadata.json": _known(
        "Visual Studio Code", "http://127.0.0.1:33418/", "https://vscode.dev/redirect"
    ),
}
"""Documents of well-known clients, used when they cannot be fetched: some sites send servers a bot challenge, and some
servers have no internet access."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A valid document, and how many seconds it stays fresh."""

    metadata: ClientMetadata
    fresh_seconds: float


def is_document_url(client_id: str) -> bool:
    """Whether a client id is a valid URL of a metadata document: https, with a path, and nothing misleading."""
    if len(client_id) > _LONGEST_URL or not _URL.fullmatch(client_id) or "#" in client_id or "\\" in client_id:
        return False
    try:
        parts = urlsplit(client_id)
        _ = parts.port
    except ValueError:
        return False
    segments = parts.path.split("/")
    return (
        bool(parts.hostname)
        and "@" not in parts.netloc
        and len(parts.path) > 1
        and not any(one.lower().replace("%2e", ".") in (".", "..") for one in segments)
    )


class DocumentReader:
    """Reads documents, within limits."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._monotonic = clock.monotonic
        self._reading: SingleFlight[str, ReadDocument] = SingleFlight()
        self._per_host = AddressBuckets(0.1, 6, clock)
        self._overall = AddressBuckets(2.0, 30, clock)
        self._failed: LruCache[str, float] = LruCache(1000)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def read(self, url: str) -> ReadDocument:
        """The document at a URL that `is_document_url`; OAuthError if it cannot be read or breaks the rules."""
        try:
            return await self._reading.run(url, lambda: self._read(url))
        except OAuthError:
            if (known := KNOWN.get(url)) is not None:
                return ReadDocument(known, SHORTEST_FRESH)
            raise

    async def _read(self, url: str) -> ReadDocument:
        if (failed_at := self._failed.peek(url)) is not None and self._monotonic() - failed_at < FAILED_SECONDS:
            raise _unreadable()
        host = urlsplit(url).hostname or ""
        if self._per_host.spend(host) or self._overall.spend(""):
            raise OAuthError("temporarily_unavailable", "Too many client documents were requested. Try again later.")
        try:
            async with self._places:
                fetched = await self._fetcher.fetch(
                    url,
                    headers={"accept": "application/json"},
                    max_bytes=MOST_BYTES,
                    timeout=FETCH_SECONDS,
                    follow_redirects=False,
                )
            return ReadDocument(_checked(url, fetched), _fresh_seconds(fetched.headers))
        except (PentadError, OAuthError) as error:
            self._failed.put(url, self._monotonic())
            if isinstance(error, OAuthError):
                raise
            raise _unreadable() from error


def clean_name(text: str) -> str:
    """A name that is safe to display: one line, without control and direction characters, not too long."""
    kept = "".join(" " if one.isspace() else one for one in text[: 10 * LONGEST_NAME] if _is_shown(one))
    kept = " ".join(kept.split())
    return kept if len(kept) <= LONGEST_NAME else kept[: LONGEST_NAME - 1] + "…"


def _is_shown(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] not in "CM"


def _checked(url: str, fetched: Fetched) -> ClientMetadata:
    kind = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    if fetched.status != 200 or not (kind == "application/json" or kind.endswith("+json")):
        raise _unreadable()
    try:
        document = msgspec.json.decode(fetched.body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _unreadable() from None
    return checked_document(url, document)


def checked_document(url: str, document: Mapping[str, Any]) -> ClientMetadata:
    """Validate a document and return the parts in use; OAuthError if it breaks a rule. Unknown fields and grant
    types are allowed."""
    if document.get("client_id") != url:
        raise _invalid("its client_id is not its URL")
    name, uris = document.get("client_name"), document.get("redirect_uris")
    if not isinstance(name, str) or not clean_name(name):
        raise _invalid("it has no client_name")
    if not isinstance(uris, list) or not uris:
        raise _invalid("it has no redirect_uris")
    redirects = cast("list[Any]", uris)
    if len(redirects) > MOST_REDIRECTS or any(
        not isinstance(uri, str) or redirect_problem(uri) is not None for uri in redirects
    ):
        raise _invalid("it has a redirect URI that is not allowed")
    if any(one.startswith("client_secret") for one in document):
        raise _invalid("a public document cannot hold a secret")
    return ClientMetadata(
        client_name=clean_name(name),
        redirect_uris=tuple(redirects),
        **_methods(document),
    )


def _methods(document: Mapping[str, Any]) -> dict[str, Any]:
    """The client's authentication methods. Some documents list all methods they know besides the preferred one."""
    method = document.get("token_endpoint_auth_method", "none")
    listed = document.get("token_endpoint_auth_methods_supported")
    methods = {method, *(cast("list[Any]", listed) if isinstance(listed, list) else ())}
    if method not in ("none", _ASSERTION) and "none" not in methods:
        raise _invalid("its token_endpoint_auth_method is not none or private_key_jwt")
    jwks_uri, jwks = document.get("jwks_uri"), document.get("jwks")
    has_uri = isinstance(jwks_uri, str) and is_document_url(jwks_uri)
    has_keys = isinstance(jwks, dict) and not _has_private_key(cast("dict[str, Any]", jwks))
    if isinstance(jwks, dict) and not has_keys:
        raise _invalid("its jwks holds a private key")
    is_public = "none" in methods
    if not is_public and not (has_uri or has_keys):
        raise _invalid("it has no keys to verify its assertions with")
    return {
        "token_endpoint_auth_method": method if method in ("none", _ASSERTION) else "none",
        "may_be_public": is_public,
        "jwks_uri": jwks_uri if has_uri else None,
        "jwks": jwks if has_keys else None,
    }


def _has_private_key(jwks: Mapping[str, Any]) -> bool:
    keys = jwks.get("keys")
    entries = cast("list[Any]", keys) if isinstance(keys, list) else []
    return any(not isinstance(key, dict) or "d" in key or "k" in key for key in entries)


def _fresh_seconds(headers: Mapping[str, str]) -> float:
    found = _MAX_AGE.search(headers.get("cache-control", "").lower())
    stated = USUAL_FRESH if found is None else float(found[1])
    return min(max(stated, SHORTEST_FRESH), LONGEST_FRESH)


def _unreadable() -> OAuthError:
    return OAuthError("invalid_client", "The document that describes the client cannot be read.")


def _invalid(why: str) -> OAuthError:
    return OAuthError("invalid_client", f"The document that describes the client is not valid: {why}.")
