"""The protected resources of this server (RFC 9728): which rooms a path leads to, and the challenge to log in there.

A challenge names the metadata of the requested path and the smallest useful scope: reading in the rooms behind it.
Further scopes are requested when a call needs them, and administration only by calls that need it.

The Bearer challenge precedes Basic: several clients read only the first challenge, while browsers look for Basic
anywhere. Within it, `error`, `scope` and `resource_metadata` come first, because clients that search the joined header
take the first match.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pentad.kernel.errors import PentadError, Unauthenticated
from pentad.kernel.principal import Action, Principal
from pentad.mcp.http_exchange import Message
from pentad.platform import Scope

Headers = list[tuple[bytes, bytes]]

_REALM: Final = "Pentad"
BASIC: Final = f'Basic realm="{_REALM}", charset="UTF-8"'
WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_CHALLENGE: Final = b"www-authenticate"
_CHANGING: Final = frozenset({"PUT", "PATCH", "DELETE"})


class ProtectedResources:
    """Maps each path to its rooms."""

    def __init__(
        self,
        rooms: Iterable[str],
        *,
        public_url: str | None,
        own_url: str,
        issuers: Iterable[str] = (),
        issues_tokens: bool = False,
    ) -> None:
        self._all = tuple(rooms)
        self._by_path: dict[str, tuple[str, ...]] = {f"/rooms/{room}": (room,) for room in self._all}
        self._read_only = set[str]()
        self._public_url = None if public_url is None else public_url.rstrip("/")
        self._own_url = own_url
        self._issuers = tuple(issuers)
        self.issues_tokens = issues_tokens
        """Whether this server is its own authorization server."""

    def add(self, room: str, patterns: Iterable[str]) -> None:
        """Map to the room all paths that begin like these patterns, up to the first parameter."""
        for pattern in patterns:
            if start := pattern.partition("{")[0].rstrip("/"):
                known = self._by_path.get(start, ())
                self._by_path[start] = known if room in known else (*known, room)

    def add_profile(self, path: str, rooms: Iterable[str], *, read_only: bool) -> None:
        """Register a path that leads to these rooms. On a read-only path, write scopes are not offered."""
        self._by_path[path] = tuple(rooms)
        if read_only:
            self._read_only.add(path)

    def rooms_at(self, path: str) -> tuple[str, ...]:
        """The rooms a path leads to: one, or all of them if the path does not say which."""
        while path:
            if (rooms := self._by_path.get(path)) is not None:
                return rooms
            path = path.rpartition("/")[0]
        return self._all

    def document(self, scope: Scope, path: str) -> dict[str, Any]:
        """The metadata of one resource: its URL, who issues tokens for it, and for which scopes."""
        site = self.site(scope, dict(scope["headers"]))
        servers = (site, *self._issuers) if self.issues_tokens else self._issuers  # clients use the first one
        return protected_resource(site + path, authorization_servers=servers, scopes=self.scopes_at(path))

    def scopes_at(self, path: str) -> list[str]:
        """The scopes that clients may request unprompted: all but administration."""
        actions = ("read",) if path in self._read_only else ("read", "write")
        return [f"{room}:{action}" for room in self.rooms_at(path) for action in actions]

    def has_rooms(self, path: str) -> bool:
        """Whether a path, or one above it, leads to certain rooms."""
        return any(path == known or path.startswith(f"{known}/") for known in self._by_path)

    def challenges(self, scope: Scope, headers: Mapping[bytes, bytes], error: PentadError) -> Headers:
        """The challenges to send with an error; none if no login would help."""
        if isinstance(error, Unauthenticated):
            return self._unauthorized(scope, headers)
        if (needed := error.details.get("required_scope")) is not None:
            return self.scope_challenge(scope, headers, needed)
        return []

    def scope_challenge(
        self, scope: Scope, headers: Mapping[bytes, bytes], needed: str, caller: Principal | None = None
    ) -> Headers:
        """The challenge for a known caller who lacks a scope: Bearer only, as a password would not help.

        For a client with a grant, the challenge also lists its current scopes: several clients request exactly the
        scopes in the challenge, and would lose the others.
        """
        caller = caller or scope.get("state", {}).get("principal")
        held = caller.scopes if caller is not None and caller.credential.startswith("grant:") else ()
        wanted = " ".join(dict.fromkeys((needed, *sorted(held))))
        challenge = bearer(metadata_url=self._metadata_url(scope, headers), scope=wanted, error="insufficient_scope")
        return [(_CHALLENGE, challenge.encode())]

    def with_challenges(self, message: Message, scope: Scope, headers: Mapping[bytes, bytes]) -> Message:
        """The start message of a room's refusal, with this server's challenges instead of the room's."""
        if message["status"] == 401:
            added = self._unauthorized(scope, headers)
        elif (needed := self._missing_scope(scope)) is not None:
            added = self.scope_challenge(scope, headers, needed)
        else:
            return message
        kept = [pair for pair in message["headers"] if pair[0].lower() != _CHALLENGE]
        return {**message, "headers": [*kept, *added]}

    def _unauthorized(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Headers:
        least = " ".join(f"{room}:read" for room in self.rooms_at(scope["path"]))
        challenge = bearer(
            metadata_url=self._metadata_url(scope, headers),
            scope=least or None,
            error="invalid_token" if _sent_a_token(headers) else None,
        )
        return [(_CHALLENGE, challenge.encode()), (_CHALLENGE, BASIC.encode())]

    def _missing_scope(self, scope: Scope) -> str | None:
        """The scope a refused caller lacks; None if a missing scope is not the reason."""
        principal: Principal | None = scope.get("state", {}).get("principal")
        rooms = self.rooms_at(scope["path"])
        if principal is None or principal.kind == "anonymous" or principal.read_only or len(rooms) != 1:
            return None
        actions: tuple[Action, ...] = ("read",) if scope["method"] in ("GET", "HEAD") else ("read", "write")
        if scope["method"] in _CHANGING:
            actions = ("write",)
        return next((f"{rooms[0]}:{action}" for action in actions if not principal.may(rooms[0], action)), None)

    def _metadata_url(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        return self.site(scope, headers) + WELL_KNOWN + scope["path"].rstrip("/")

    def site(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        """This server's URL as the client uses it: a client refuses metadata of another origin."""
        if self._public_url is not None:
            return self._public_url
        host = headers.get(b"host", b"").decode("latin-1").strip()
        return f"{scope.get('scheme', 'http')}://{host}" if host else self._own_url


def _sent_a_token(headers: Mapping[bytes, bytes]) -> bool:
    given = headers.get(b"authorization")
    return b"x-api-key" in headers if given is None else given.lstrip(b" \t")[:7].lower() == b"bearer "


def protected_resource(
    resource: str, *, authorization_servers: Iterable[str] = (), scopes: Iterable[str] = ()
) -> dict[str, Any]:
    """The document for one resource URL. If there are no issuers, the list is left out, as the RFC requires."""
    document: dict[str, Any] = {
        "resource": resource,
        "bearer_methods_supported": ["header"],
        "resource_name": "Pentad",
    }
    if servers := list(authorization_servers):
        document["authorization_servers"] = servers
    if supported := sorted(scopes):
        document["scopes_supported"] = supported
    return document


def bearer(*, metadata_url: str | None = None, scope: str | None = None, error: str | None = None) -> str:
    """The Bearer challenge (RFC 6750) with the URL of the resource's metadata (RFC 9728)."""
    parameters = {"error": error, "scope": scope, "resource_metadata": metadata_url, "realm": _REALM}
    return "Bearer " + ", ".join(f"{name}={_quoted(value)}" for name, value in parameters.items() if value is not None)


def _quoted(text: str) -> str:
    """A quoted-string (RFC 9110 5.6.4) without characters that could break out of the header."""
    safe = "".join(character for character in text if " " <= character <= "~")
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
