"""Sends the requests of one query (`collectors.contract.Upstream`) through the platform's guarded fetcher.

A request is retried only if that can help: after the pause the host asks for, with a new login after one 401, or with
jittered backoff when the host is broken. All of it ends at the query's deadline. Error messages are built from statuses
and names only: queries, headers and bodies may hold secrets.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Unpack
from urllib.parse import urlencode, urlsplit

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import DeadlineExceeded, Forbidden, LimitExceeded, PentadError
from pentad.kernel.ports import Fetched, Fetcher
from pentad.kernel.retry_after import retry_after
from pentad.rooms.metrics.collectors.contract import (
    JsonRequestOptions,
    Login,
    PostOptions,
    Reply,
    SendOptions,
    decode_json,
)
from pentad.rooms.metrics.models import FetchError, Problem, ProblemKind

MOST_HOSTS: Final = 1_000


class HostLimit:
    """Limits concurrent requests to one host, and pauses them when it asks for that."""

    __slots__ = ("_clock", "_paused_until", "_slots", "busy")

    def __init__(self, limit: int, clock: Clock) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._clock = clock
        self._paused_until = 0.0
        self.busy = 0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Wait for a free slot and for the end of a pause."""
        async with self._slots:
            while left := self.paused_for():  # noqa: ASYNC110  the pause may be extended while we sleep
                await asyncio.sleep(left)
            self.busy += 1
            try:
                yield
            finally:
                self.busy -= 1

    def pause(self, seconds: float) -> None:
        """Send nothing to this host for this many seconds."""
        self._paused_until = max(self._paused_until, self._clock.monotonic() + seconds)

    def paused_for(self) -> float:
        """Seconds until the pause ends."""
        return max(0.0, self._paused_until - self._clock.monotonic())


class HostLimits:
    """A limit for each host, created on first use."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self.limit = limit
        self._clock = clock
        self._hosts: dict[str, HostLimit] = {}

    def for_host(self, host: str) -> HostLimit:
        found = self._hosts.get(host)
        if found is None:
            if len(self._hosts) >= MOST_HOSTS:
                self._hosts = {name: limit_of_host for name, limit_of_host in self._hosts.items() if limit_of_host.busy}
            found = self._hosts[host] = HostLimit(self.limit, self._clock)
        return found


TRIES: Final = 4
MOST_WAITS: Final = 20
"""How often a host may ask us to retry later. This is not a failure, and the deadline bounds it."""

FIRST_PAUSE: Final = 0.25
LONGEST_WAIT: Final = 90.0
REQUEST_SECONDS: Final = 30.0
ANSWER_BYTES: Final = 16 * 1024 * 1024
RETRIED: Final = frozenset({429, 500, 502, 503, 504})

_KINDS: Final[dict[int, ProblemKind]] = {
    401: "permission", 403: "permission", 404: "unsupported", 405: "unsupported", 410: "unsupported",
    429: "rate", 501: "unsupported",
}  # fmt: skip


class UpstreamPool:
    """Shared by all queries: the fetcher, the limits per host, and the origins the operator trusts."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        *,
        limit: int = 64,
        trusted: set[tuple[str, str]] | None = None,
        tries: int = TRIES,
    ) -> None:
        self.fetcher = fetcher
        self.clock = clock
        self.host_limits = HostLimits(limit, clock)
        self.trusted: set[tuple[str, str]] = trusted if trusted is not None else set()
        self.tries = tries
        self.calls = 0
        """Requests sent since the start."""


class _Request(msgspec.Struct):
    """A request, and its name in problems."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None
    scope: str
    call: str
    affects: tuple[str, ...]
    explain: Callable[[bytes], str | None] | None = None

    def status_error(self, answer: Fetched) -> FetchError:
        """The error for a status, with the source's own explanation if it may be shown."""
        reason = self.explain(answer.body) if self.explain is not None else None
        return self.error(problem_kind(answer), reason or describe_status(answer), answer.status)

    def error(self, kind: ProblemKind, message: str, http: int | None = None) -> FetchError:
        return FetchError(
            Problem(scope=self.scope, call=self.call, kind=kind, message=message, http=http, affects=self.affects)
        )


class UpstreamSession:
    """Sends the requests of one query; `calls` counts them."""

    def __init__(
        self, pool: UpstreamPool, *, credentials: Mapping[str, str] | None = None, deadline: float | None = None
    ) -> None:
        self._pool = pool
        self._credentials = credentials
        self.deadline = deadline
        self.calls = 0
        self.throttled = 0
        """How many answers were 429, or a 503 that means the same."""

    @property
    def clock(self) -> Clock:
        return self._pool.clock

    @property
    def credentials(self) -> Mapping[str, str] | None:
        return self._credentials

    async def get(self, url: str, **options: Unpack[JsonRequestOptions]) -> Any:
        return await self._json(_request("GET", _with_query(url, options), None, options), options.get("login"))

    async def post(self, url: str, **options: Unpack[PostOptions]) -> Any:
        form = options.get("form")
        body = msgspec.json.encode(options.get("json")) if form is None else urlencode(form).encode()
        request = _request("POST", _with_query(url, options), body, options)
        kind = "application/json" if form is None else "application/x-www-form-urlencoded"
        request.headers.setdefault("content-type", kind)
        return await self._json(request, options.get("login"))

    async def send(self, method: str, url: str, **options: Unpack[SendOptions]) -> Reply:
        answer = await self._send(_request(method, url, options.get("body"), options), options.get("login"))
        return Reply(answer.status, answer.headers, answer.body)

    async def _json(self, request: _Request, login: Login | None) -> Any:
        request.headers.setdefault("accept", "application/json")
        answer = await self._send(request, login)
        value, wrong = decode_json(answer.body, answer.headers.get("content-type", ""))
        if wrong is not None:
            raise request.error("parse", wrong, answer.status)
        return value

    async def _send(self, request: _Request, login: Login | None) -> Fetched:
        if login is None:
            return await self._send_with_retries(request, request.headers)
        for last in (False, True):
            proof = await login.headers(self)
            try:
                return await self._send_with_retries(request, {**request.headers, **proof})
            except FetchError as error:
                if error.problem.http != 401 or last:
                    raise
                login.refused(proof)
        raise AssertionError("the second round answers or raises")

    async def _send_with_retries(self, request: _Request, headers: Mapping[str, str]) -> Fetched:
        host = self._pool.host_limits.for_host(urlsplit(request.url).netloc)
        tries, waits = self._pool.tries, MOST_WAITS
        while True:
            try:
                answer = await self._send_once(request, headers, host)
            except PentadError as error:
                kind = problem_kind_of_error(error)
                tries -= 1
                if not tries or kind in ("unsupported", "parse"):
                    raise request.error(kind, error.message) from None
                await self._back_off(request, self._pool.tries - tries - 1, kind, error.message)
                continue
            if 200 <= answer.status < 300:
                return answer
            self.throttled += is_rate_limited(answer)
            if is_rate_limited(answer) and waits and requested_pause(answer.headers, self.clock) is not None:
                waits -= 1  # many requests wait for the same moment, and only some of them get through
            else:
                tries -= 1
            if not tries or answer.status not in RETRIED:
                raise request.status_error(answer)
            await self._wait_before_retry(request, max(0, self._pool.tries - tries - 1), answer, host)

    async def _send_once(self, request: _Request, headers: Mapping[str, str], host: HostLimit) -> Fetched:
        left = self._seconds_left(request)
        try:
            async with asyncio.timeout(left), host.slot():
                self.calls += 1
                self._pool.calls += 1
                return await self._pool.fetcher.fetch(
                    request.url,
                    method=request.method,
                    headers=headers,
                    body=request.body,
                    max_bytes=ANSWER_BYTES,
                    timeout=REQUEST_SECONDS,
                    trusted=self._is_trusted(request.url),
                )
        except TimeoutError:
            # Not final: another query with more time may have joined this request and moved its deadline.
            raise DeadlineExceeded("There was no answer before the deadline.") from None

    async def _wait_before_retry(self, request: _Request, attempt: int, answer: Fetched, host: HostLimit) -> None:
        """Pause all requests to this host if it asks for that; otherwise back off."""
        if not is_rate_limited(answer):
            await self._back_off(request, attempt, problem_kind(answer), describe_status(answer), answer.status)
            return
        seconds = requested_pause(answer.headers, self.clock)
        wait = _backoff_seconds(attempt) if seconds is None else seconds + random.random() * 0.1  # noqa: S311  jitter
        if wait > LONGEST_WAIT or (self.deadline is not None and self.clock.monotonic() + wait >= self.deadline):
            raise request.error("rate", describe_status(answer), answer.status)
        host.pause(wait)
        await asyncio.sleep(wait)

    async def _back_off(
        self, request: _Request, attempt: int, kind: ProblemKind, message: str, http: int | None = None
    ) -> None:
        wait = _backoff_seconds(attempt)
        if self.deadline is not None and self.clock.monotonic() + wait >= self.deadline:
            raise request.error(kind, message, http)
        await asyncio.sleep(wait)

    def _seconds_left(self, request: _Request) -> float | None:
        if self.deadline is None:
            return None
        left = self.deadline - self.clock.monotonic()
        if left <= 0:
            raise request.error("timeout", "The deadline passed before this was requested.")
        return left

    def _is_trusted(self, url: str) -> bool:
        parts = urlsplit(url)
        return (parts.scheme, parts.netloc) in self._pool.trusted


def _request(
    method: str, url: str, body: bytes | None, options: JsonRequestOptions | PostOptions | SendOptions
) -> _Request:
    return _Request(
        method,
        url,
        {name.lower(): value for name, value in (options.get("headers") or {}).items()},
        body,
        options.get("scope", ""),
        options.get("call") or f"{method} {urlsplit(url).path}",
        options.get("affects", ()),
        options.get("explain"),
    )


def _with_query(url: str, options: JsonRequestOptions | PostOptions) -> str:
    params = options.get("params")
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params)}" if params else url


def _backoff_seconds(attempt: int) -> float:
    return FIRST_PAUSE * 2**attempt * (0.5 + random.random())  # noqa: S311  jitter, not a secret


def problem_kind(answer: Fetched) -> ProblemKind:
    """What an error status means. Only status and headers count: error bodies may hold secrets."""
    return "rate" if is_rate_limited(answer) else _KINDS.get(answer.status, "server")


def is_rate_limited(answer: Fetched) -> bool:
    """Whether the host says "slow down": 429, or the empty 503 of a platform at its capacity."""
    return answer.status == 429 or (
        answer.status == 503 and (not answer.body.strip() or _retry_header(answer.headers) is not None)
    )


def requested_pause(headers: Mapping[str, str], clock: Clock) -> float | None:
    """How many seconds the host asks us to wait; None if it does not say."""
    return retry_after(_retry_header(headers), clock)


def _retry_header(headers: Mapping[str, str]) -> str | None:
    return headers.get("retry-after") or headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset")


def describe_status(answer: Fetched) -> str:
    """A sentence about an error status."""
    text = {
        401: "The login was refused.",
        403: "The login has no permission for this.",
        404: "The source has nothing at this address.",
        429: "Too many requests; the source did not recover in time.",
        503: "The source is at its capacity." if is_rate_limited(answer) else "The source is not available.",
    }.get(answer.status, "The source answered with an error.")
    return f"{text} (HTTP {answer.status})"


def problem_kind_of_error(error: PentadError) -> ProblemKind:
    """The kind of problem for a request without an answer."""
    if isinstance(error, DeadlineExceeded):
        return "timeout"
    if isinstance(error, LimitExceeded):
        return "parse"
    return "unsupported" if isinstance(error, Forbidden) else "network"
