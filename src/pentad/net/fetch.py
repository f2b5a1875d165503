"""Outgoing HTTP (`kernel.ports.Fetcher`): the only code in Pentad that opens such connections.

A URL may come from a record, a task or a model, so every hop is checked again: the URL is parsed once, its name
resolved once, all its addresses checked, and the connection goes to a checked address. Errors name the host the caller
gave, never an address the resolver found.
"""

import asyncio
import copy
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from pentad.kernel.errors import DeadlineExceeded, Forbidden, InvalidInput, LimitExceeded, PentadError, Unavailable
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Fetched, Streamed
from pentad.kernel.trace import outgoing_traceparent
from pentad.net.addresses import Address, Resolver, SystemResolver, is_open
from pentad.net.fetch_policy import FetchPolicy
from pentad.net.urls import Target, canonical_host, follow, parse

if TYPE_CHECKING:
    from pentad.net.http_client import ConnectionPool, OpenResponse, OutgoingRequest, Response, SocketFactory

MAX_ADDRESSES_TRIED: Final = 4
LOGGED_EVERY: Final = 600.0
"""How long the same failing host is not logged again: some are fetched every minute."""
_CHECK_SECONDS: Final = 2.0

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_METHOD: Final = re.compile(r"[A-Z]{1,20}\Z")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SET_HERE: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade", "expect"}
)
_KEPT_ACROSS_ORIGINS: Final = frozenset(
    {"accept", "accept-language", "content-type", "user-agent", "traceparent", "tracestate"}
)


_REASONS: Final = (
    (Forbidden, "refused"),
    (LimitExceeded, "too-large"),
    (DeadlineExceeded, "timeout"),
    (Unavailable, "unreachable"),
)


class Hop(Protocol):
    """The result of one hop."""

    @property
    def status(self) -> int: ...

    @property
    def location(self) -> str | None: ...


A = TypeVar("A", bound=Hop)
Send = Callable[[Target, Sequence[Address], "OutgoingRequest"], Awaitable[A]]


@dataclass(slots=True)
class _Pools:
    fetches: "ConnectionPool | None" = None
    streams: "ConnectionPool | None" = None


class HttpFetcher:
    """Fetches within a policy. One per process; `close()` ends its pooled connections."""

    def __init__(
        self,
        policy: FetchPolicy | None = None,
        *,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        sockets: "SocketFactory | None" = None,
        incidents: Incidents | None = None,
    ) -> None:
        self._policy = policy or FetchPolicy()
        self._trusted_hosts = frozenset(canonical_host(host)[0] for host in self._policy.allow_hosts)
        self._resolver = resolver or SystemResolver()
        self._tls = tls
        self._sockets = sockets
        self._incidents = incidents
        self._room: str | None = None
        self._pools = _Pools()

    def for_room(self, room: str) -> "HttpFetcher":
        """The same fetcher, with the same connections, for a room: failures are logged with the room's name."""
        twin = copy.copy(self)
        twin._room = room  # noqa: SLF001  of the same class
        return twin

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  a budget over redirects and body, not only an await
        trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:
        """Fetch a URL, by default following redirects. The caller judges the status; only transport failures raise.

        `trusted` is for a URL from the operator's settings, never for one that came with a request: its origin may be
        anywhere, even on a private network. Redirects to other origins are checked as usual.
        """
        target, sent = self._parsed(url), _sent(method, headers, body)
        cap = self._policy.max_bytes if max_bytes is None else min(max_bytes, self._policy.max_bytes)

        async def send(target: Target, addresses: Sequence[Address], sent: "OutgoingRequest") -> "Response":
            return await self._fetch_pool().send(target, addresses, sent, cap)

        async with self._limit_time(target, timeout):
            redirects = self._policy.max_redirects if follow_redirects else None
            answer, final = await self._follow(target, sent, send, target.origin if trusted else None, redirects)
        return Fetched(answer.status, answer.headers, answer.body, final.url, final.url != target.url)

    async def check(self, url: str, *, trusted: bool = False) -> None:
        """Check a URL that is to be fetched later. `fetch` checks it again then, as a name may change its addresses.

        A host that cannot be resolved quickly passes; it may exist by the time it is needed.
        """
        target = self._parsed(url)
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await self._checked_addresses(target, is_named=trusted)
        except (TimeoutError, Unavailable):
            return
        except Forbidden as error:
            self._log_failure(target.host, error)
            raise

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  until the answer begins, over redirects
        idle: float | None = None,
        trusted: bool = False,
    ) -> AsyncGenerator[Streamed]:
        """A response whose chunks are passed on as they arrive, with the same checks as `fetch`.

        Streams have their own connection pool: however many are open, a fetch never waits for one to end.
        """
        target, sent = self._parsed(url), _sent(method, headers, body)

        async def begin(target: Target, addresses: Sequence[Address], sent: "OutgoingRequest") -> "OpenResponse":
            return await self._stream_pool().open(target, addresses, sent)

        async with self._limit_time(target, timeout):
            redirects = self._policy.max_redirects
            opened, final = await self._follow(target, sent, begin, target.origin if trusted else None, redirects)
        try:
            yield Streamed(opened.status, opened.headers, opened.chunks(idle or self._policy.timeout), final.url)
        finally:
            opened.close()

    async def close(self) -> None:
        """End the pooled connections. A later fetch opens new ones."""
        shared = self._pools
        pools, shared.fetches, shared.streams = (shared.fetches, shared.streams), None, None
        for pool in pools:
            if pool is not None:
                await pool.close()

    @asynccontextmanager
    async def _limit_time(self, target: Target, timeout: float | None) -> AsyncGenerator[None]:  # noqa: ASYNC109  the same budget
        budget = min(timeout or self._policy.timeout, self._policy.timeout)
        try:
            async with asyncio.timeout(budget):
                yield
        except TimeoutError:
            late = DeadlineExceeded(
                f"{target.host} did not respond within {budget:g} s.", hint="Try again, or raise fetch.timeout."
            )
            self._log_failure(target.host, late)
            raise late from None
        except PentadError as error:
            self._log_failure(target.host, error)
            raise

    def _parsed(self, url: str) -> Target:
        try:
            return parse(url)
        except Forbidden as error:  # for example a scheme that is not fetched
            self._log_failure(None, error)
            raise

    def _log_failure(self, host: str | None, error: PentadError) -> None:
        """Log which room asked for which host and why it failed. Only the host: the rest of the URL may be secret."""
        reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), None)
        if self._incidents is None or reason is None or "incident" in error.details:
            return
        error.details["incident"] = self._incidents.note(
            (reason, host, self._room),
            f"A fetch failed: {error.message}",
            level=logging.WARNING,
            host=host,
            reason=reason,
            room=self._room,
        )

    async def _follow(
        self,
        target: Target,
        sent: "OutgoingRequest",
        send: "Send[A]",
        trusted: tuple[str, str, int] | None,
        redirects: int | None,
    ) -> "tuple[A, Target]":
        """Follow redirects; returns the final response and its URL. With None the first response is final."""
        for _ in range((redirects or 0) + 1):
            addresses = await self._checked_addresses(target, is_named=target.origin == trusted)
            answer = await send(target, addresses, sent)
            if answer.location is None or redirects is None:
                return answer, target
            following = follow(target, answer.location)
            if target.scheme == "https" and following.scheme == "http":
                raise Forbidden("The response redirects from https to http.", hint="Use a URL that stays on https.")
            sent = _redirected(sent, answer.status, same_origin=following.origin == target.origin)
            if sent.body is not None and not _keeps_body(target, following):
                raise Forbidden(
                    "The response redirects a request body to another server, where it is not sent.",
                    hint="Send it to the final URL.",
                )
            target = following
        raise LimitExceeded(
            f"The response redirects more than {redirects} times.", hint="Fetch the final URL directly."
        )

    async def _checked_addresses(self, target: Target, *, is_named: bool) -> Sequence[Address]:
        """The addresses of the host. If one of them is not allowed, the whole host is refused."""
        if not is_named:
            self._policy.check_target(target)
        if target.literal is not None:
            addresses: Sequence[Address] = (target.literal,)
        else:
            try:
                addresses = await self._resolver.resolve(target.host)
            except (OSError, UnicodeError, ValueError):
                addresses = ()
        if not addresses:
            raise Unavailable(f"The host {target.host!r} has no address.", hint="Check the spelling of the host.")
        trusted = is_named or target.host in self._trusted_hosts
        if not all(is_open(address, self._policy.allow_networks, host_is_trusted=trusted) for address in addresses):
            raise Forbidden(
                f"The host {target.host!r} is not on the public internet, so it is not fetched.",
                hint="The operator can open it with fetch.allow_hosts or fetch.allow_networks.",
            )
        return addresses[:MAX_ADDRESSES_TRIED]

    def _fetch_pool(self) -> "ConnectionPool":
        if self._pools.fetches is None:
            self._pools.fetches = self._new_pool()
        return self._pools.fetches

    def _stream_pool(self) -> "ConnectionPool":
        if self._pools.streams is None:
            self._pools.streams = self._new_pool()
        return self._pools.streams

    def _new_pool(self) -> "ConnectionPool":
        from pentad.net.http_client import ConnectionPool

        return ConnectionPool(self._policy, self._tls, self._sockets)


def _sent(method: str, headers: Mapping[str, str] | None, body: bytes | None) -> "OutgoingRequest":
    from pentad.net.http_client import OutgoingRequest

    if not _METHOD.match(method):
        raise InvalidInput("The HTTP method is not a word of capital letters.", hint="Use GET, POST, ...")
    return OutgoingRequest(method, _traced(_checked_headers(headers or {})), body)


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with lower-case names. Raises for line breaks, and for headers that the fetcher sets."""
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if not _TOKEN.match(name) or _CONTROL.search(value):
            raise InvalidInput(f"The header {name[:40]!r} cannot be sent.", hint="Remove control characters.")
        if name.lower() in _SET_HERE:
            raise InvalidInput(f"The header {name!r} is set by the fetcher.", hint="Leave it out.")
        checked[name.lower()] = value
    return checked


def _traced(headers: dict[str, str]) -> dict[str, str]:
    """The headers with the trace of the request they are sent for, unless they already have one."""
    if any(name.lower() == "traceparent" for name in headers) or (trace := outgoing_traceparent()) is None:
        return headers
    return {**headers, "traceparent": trace}


def _keeps_body(target: Target, following: Target) -> bool:
    """Whether a redirect keeps the body: only to the same origin, or to the same host over https."""
    return following.origin == target.origin or (following.host == target.host and following.scheme == "https")


def _redirected(sent: "OutgoingRequest", status: int, *, same_origin: bool) -> "OutgoingRequest":
    """The request for the next hop: a POST becomes a GET as in browsers; another origin gets no credentials."""
    from pentad.net.http_client import OutgoingRequest

    method, body, headers = sent.method, sent.body, dict(sent.headers)
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body = "GET", None
        headers.pop("content-type", None)
    if not same_origin:
        headers = {name: value for name, value in headers.items() if name in _KEPT_ACROSS_ORIGINS}
    return OutgoingRequest(method, headers, body)
