"""The way out for the facts of one question (`contract.Upstream`), over the core's guarded fetcher.

A request is sent again only when that can help: slow down and try when the host says "too many", log in anew once when
it says 401, back off with jitter when it is broken. All of it ends at the question's deadline. What is said of a
failure is made of statuses and names; never of addresses' queries, headers or bodies, which may hold secrets.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import DeadlineExceeded, PentadError
from pentad.kernel.ports import Fetched, Fetcher
from pentad.rooms.metrics.collectors.contract import Login, Reply
from pentad.rooms.metrics.engine.gates import Gate, Gates
from pentad.rooms.metrics.engine.refusals import (
    AGAIN,
    asked_to_wait,
    decoded,
    failure_kind,
    is_rate,
    kind_of,
    refusal,
)
from pentad.rooms.metrics.model import Failed, Problem, ProblemKind

TRIES: Final = 4
MOST_WAITS: Final = 20
"""How often a host may say when to come again; that is no failure, and the deadline bounds it."""

FIRST_PAUSE: Final = 0.25
LONGEST_WAIT: Final = 90.0
REQUEST_SECONDS: Final = 30.0
ANSWER_BYTES: Final = 16 * 1024 * 1024


class Wires:
    """What all questions share: the fetcher, the gates, and which origins the operator named."""

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
        self.gates = Gates(limit, clock)
        self.trusted: set[tuple[str, str]] = trusted if trusted is not None else set()
        self.tries = tries
        self.calls = 0
        """Requests sent since the start."""


class _Request(msgspec.Struct):
    """One request as it is to be sent, and how to speak of it."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None
    scope: str
    call: str
    affects: tuple[str, ...]

    def failed(self, kind: ProblemKind, message: str, http: int | None = None) -> Failed:
        return Failed(
            Problem(scope=self.scope, call=self.call, kind=kind, message=message, http=http, affects=self.affects)
        )


class Question:
    """One question's way out; `calls` counts what it sent."""

    def __init__(
        self, wires: Wires, *, credentials: Mapping[str, str] | None = None, deadline: float | None = None
    ) -> None:
        self._wires = wires
        self._credentials = credentials
        self.deadline = deadline
        self.calls = 0

    @property
    def clock(self) -> Clock:
        return self._wires.clock

    @property
    def credentials(self) -> Mapping[str, str] | None:
        return self._credentials

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        login: Login | None = None,
        scope: str = "",
        call: str = "",
        affects: tuple[str, ...] = (),
    ) -> Any:
        request = _request("GET", _with_query(url, params), headers, None, scope, call, affects)
        return await self._json(request, login)

    async def post(
        self,
        url: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        login: Login | None = None,
        scope: str = "",
        call: str = "",
        affects: tuple[str, ...] = (),
    ) -> Any:
        kind = "application/json" if form is None else "application/x-www-form-urlencoded"
        body = msgspec.json.encode(json) if form is None else urlencode(form).encode()
        request = _request(
            "POST", _with_query(url, params), {"content-type": kind, **(headers or {})}, body, scope, call, affects
        )
        return await self._json(request, login)

    async def send(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        login: Login | None = None,
        scope: str = "",
        call: str = "",
        affects: tuple[str, ...] = (),
    ) -> Reply:
        answer = await self._answer(_request(method, url, headers, body, scope, call, affects), login)
        return Reply(answer.status, answer.headers, answer.body)

    async def _json(self, request: _Request, login: Login | None) -> Any:
        if "accept" not in request.headers:
            request.headers["accept"] = "application/json"
        answer = await self._answer(request, login)
        value, wrong = decoded(answer.body, answer.headers.get("content-type", ""))
        if wrong is not None:
            raise request.failed("parse", wrong, answer.status)
        return value

    async def _answer(self, request: _Request, login: Login | None) -> Fetched:
        if login is None:
            return await self._insist(request, request.headers)
        for last in (False, True):
            proof = await login.headers(self)
            try:
                return await self._insist(request, {**request.headers, **proof})
            except Failed as failed:
                if failed.problem.http != 401 or last:
                    raise
                login.refused(proof)
        raise AssertionError("the second round answers or raises")

    async def _insist(self, request: _Request, headers: Mapping[str, str]) -> Fetched:
        gate = self._wires.gates.of(urlsplit(request.url).netloc)
        tries, waits = self._wires.tries, MOST_WAITS
        while True:
            try:
                answer = await self._once(request, headers, gate)
            except PentadError as error:
                kind = failure_kind(error)
                tries -= 1
                if not tries or kind in ("unsupported", "parse"):
                    raise request.failed(kind, error.message) from None
                await self._pause(request, self._wires.tries - tries - 1, kind, error.message)
                continue
            if 200 <= answer.status < 300:
                return answer
            if is_rate(answer) and waits and asked_to_wait(answer.headers, self.clock.now()) is not None:
                waits -= 1  # many wait for the same moment, and not all of them come through at it
            else:
                tries -= 1
            if not tries or answer.status not in AGAIN:
                raise request.failed(kind_of(answer), refusal(answer), answer.status)
            await self._before_next(request, max(0, self._wires.tries - tries - 1), answer, gate)

    async def _once(self, request: _Request, headers: Mapping[str, str], gate: Gate) -> Fetched:
        left = self._left(request)
        try:
            async with asyncio.timeout(left), gate.passing():
                self.calls += 1
                self._wires.calls += 1
                return await self._wires.fetcher.fetch(
                    request.url,
                    method=request.method,
                    headers=headers,
                    body=request.body,
                    max_bytes=ANSWER_BYTES,
                    timeout=REQUEST_SECONDS,
                    trusted=self._is_trusted(request.url),
                )
        except TimeoutError:
            # Not the end of it where somebody with more time has come to wait for the same answer meanwhile.
            raise DeadlineExceeded("There was no answer before the deadline.") from None

    async def _before_next(self, request: _Request, attempt: int, answer: Fetched, gate: Gate) -> None:
        """Wait as long as the answer asks for, all requests to this host alike; or back off."""
        asked = asked_to_wait(answer.headers, self.clock.now())
        if not is_rate(answer):
            await self._pause(request, attempt, kind_of(answer), refusal(answer), answer.status)
            return
        wait = _backoff(attempt) if asked is None else asked + random.random() * 0.1  # noqa: S311  jitter
        if wait > LONGEST_WAIT or (self.deadline is not None and self.clock.monotonic() + wait >= self.deadline):
            raise request.failed("rate", refusal(answer), answer.status)
        gate.hold(wait)
        await asyncio.sleep(wait)

    async def _pause(
        self, request: _Request, attempt: int, kind: ProblemKind, message: str, http: int | None = None
    ) -> None:
        wait = _backoff(attempt)
        if self.deadline is not None and self.clock.monotonic() + wait >= self.deadline:
            raise request.failed(kind, message, http)
        await asyncio.sleep(wait)

    def _left(self, request: _Request) -> float | None:
        if self.deadline is None:
            return None
        left = self.deadline - self.clock.monotonic()
        if left <= 0:
            raise request.failed("timeout", "The deadline was over before this was asked.")
        return left

    def _is_trusted(self, url: str) -> bool:
        parts = urlsplit(url)
        return (parts.scheme, parts.netloc) in self._wires.trusted


def _request(
    method: str,
    url: str,
    headers: Mapping[str, str] | None,
    body: bytes | None,
    scope: str,
    call: str,
    affects: tuple[str, ...],
) -> _Request:
    named = call or f"{method} {urlsplit(url).path}"
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    return _Request(method, url, lower, body, scope, named, affects)


def _with_query(url: str, params: Mapping[str, str | int] | None) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(params)}" if params else url


def _backoff(attempt: int) -> float:
    return FIRST_PAUSE * 2**attempt * (0.5 + random.random())  # noqa: S311  jitter, not a secret
