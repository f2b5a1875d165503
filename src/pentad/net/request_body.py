"""Reads request bodies as plain ASGI, within limits of size and speed.

Nearly every body arrives whole with its headers; reading it costs no timer and no copy. Any other body must arrive
above a minimum rate, so that a client that sends a byte now and then cannot hold a call open.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from types import coroutine
from typing import Any, Final

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import DeadlineExceeded, LimitExceeded

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

GRACE_SECONDS: Final = 5.0
_CLOCK: Final = SystemClock()


class ClientDisconnected(Exception):
    """The client left before its body was complete; no answer is possible."""


class BodyTooSlow(DeadlineExceeded):
    """The body arrives below the minimum rate."""

    code = "body_too_slow"
    http_status = 408


class BodyTooLarge(LimitExceeded):
    """The body is larger than the limit."""

    rest: int = 0
    """The minimum number of bytes still to come; 0 if the body is complete."""


async def read_body(
    receive: Receive,
    content_length: int | None,
    *,
    limit: int,
    floor_bytes_per_second: int = 0,
    grace_seconds: float = GRACE_SECONDS,
    clock: Clock = _CLOCK,
) -> bytes:
    """The whole body; never holds more than `limit` bytes of it.

    `content_length` is what the client declared, None if it did not. The floor applies after the grace; 0 means none.
    Raises LimitExceeded, BodyTooSlow or ClientDisconnected.
    """
    if content_length is not None and content_length > limit:
        raise _too_large(limit, content_length)
    started = clock.monotonic()
    step = receive().__await__()
    try:
        waiting = next(step)
    except StopIteration as arrived:
        message: Message = arrived.value
        if message["type"] == "http.request" and not message.get("more_body", False):
            body: bytes = message.get("body", b"")
            if len(body) > limit:
                raise _too_large(limit, 0) from None
            return body
        first = _already(message)
    else:
        first = _resume(step, waiting)
    pace = _Pace(started, floor_bytes_per_second, grace_seconds, clock)
    return await _read_stream(first, receive, limit, pace)


async def drained(receive: Receive, *, most: int, seconds: float) -> bool:
    """Read and drop the rest of a body, within limits. Returns whether the body ended within them.

    Most clients send the whole body before they read the answer: if we hang up earlier, they miss it.
    """
    read = 0
    try:
        async with asyncio.timeout(seconds):
            while read <= most:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return message["type"] == "http.request"
                read += len(message.get("body", b""))
    except TimeoutError:
        pass
    return False


def bounded_receive(
    receive: Receive,
    content_length: int | None,
    *,
    limit: int,
    floor_bytes_per_second: int = 0,
    grace_seconds: float = GRACE_SECONDS,
    clock: Clock = _CLOCK,
) -> Receive:
    """A `receive` with the same limits, for code that reads the body as it arrives. Raises when one is exceeded."""
    if content_length is not None and content_length > limit:
        raise _too_large(limit, content_length)
    pace = _Pace(clock.monotonic(), floor_bytes_per_second, grace_seconds, clock)
    received = 0
    whole = False

    async def bounded() -> Message:
        nonlocal received, whole
        if whole:
            return await receive()
        message = await _in_time(receive(), pace, received)
        received += len(message.get("body", b""))
        if received > limit:
            raise _too_large(limit, int(message.get("more_body", False)))
        whole = not message.get("more_body", False)
        return message

    return bounded


class _Pace:
    """The deadline of the next chunk: every byte received buys time at the minimum rate."""

    def __init__(self, started: float, floor: int, grace: float, clock: Clock) -> None:
        self._started = started
        self._floor = floor
        self._grace = grace
        self._clock = clock

    def seconds_left(self, received: int) -> float | None:
        if not self._floor:
            return None
        return self._started + self._grace + received / self._floor - self._clock.monotonic()


async def _read_stream(first: Awaitable[Message], receive: Receive, limit: int, pace: _Pace) -> bytes:
    body = bytearray()  # not a list of chunks: millions of tiny ones would take many times the limit
    coming = first
    while True:
        message = await _in_time(coming, pace, len(body))
        chunk: bytes = message.get("body", b"")
        if len(body) + len(chunk) > limit:
            raise _too_large(limit, int(message.get("more_body", False)))
        body += chunk
        if not message.get("more_body", False):
            return bytes(body)
        coming = receive()


async def _in_time(coming: Awaitable[Message], pace: _Pace, received: int) -> Message:
    """The next part of a body."""
    try:
        async with asyncio.timeout(pace.seconds_left(received)):
            message = await coming
    except TimeoutError:
        raise BodyTooSlow(
            "The request's body arrives too slowly.",
            hint="Send it at once; the floor is limits.body_bytes_per_second.",
        ) from None
    if message["type"] != "http.request":
        raise ClientDisconnected
    return message


async def _already(message: Message) -> Message:
    return message


@coroutine
def _resume(step: Generator[Any, Any, Message], waiting: Any) -> Generator[Any, Any, Message]:
    """Continue an awaitable whose first step was run by hand and did not finish."""
    while True:
        try:
            value = yield waiting
        except BaseException as error:  # noqa: BLE001  a cancellation must reach the awaited step
            advance, argument = step.throw, error
        else:
            advance, argument = step.send, value
        try:
            waiting = advance(argument)
        except StopIteration as done:
            return done.value


def _too_large(limit: int, rest: int) -> BodyTooLarge:
    error = BodyTooLarge(
        f"The request's body is larger than {limit} bytes.",
        hint="Send less, sign in if you have not, or raise limits.body_bytes; for uploads, limits.upload_bytes.",
    )
    error.rest = rest
    return error
