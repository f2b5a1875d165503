"""Reading a request's body from plain ASGI messages."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from pentad.kernel.errors import LimitExceeded
from pentad.net.request_body import BodyTooLarge, BodyTooSlow, ClientDisconnected, bounded_receive, drained, read_body


class FixedClock:
    """A clock the test moves by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def chunk(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def receiving(messages: Sequence[dict[str, Any]], *, waits: bool = False) -> Callable[[], Awaitable[dict[str, Any]]]:
    """Hands the messages out one by one, after a turn of the loop if asked; then never again."""
    left = list(messages)

    async def receive() -> dict[str, Any]:
        if waits:
            await asyncio.sleep(0)
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return receive


@pytest.mark.anyio
async def test_a_body_that_came_whole_is_the_very_object_received():
    body = b"x" * 100
    assert await read_body(receiving([chunk(body, more=False)]), 100, limit=100, floor_bytes_per_second=1) is body


@pytest.mark.anyio
async def test_a_body_that_came_whole_takes_no_turn_of_the_loop():
    turned = False

    def turn() -> None:
        nonlocal turned
        turned = True

    asyncio.get_running_loop().call_soon(turn)
    await read_body(receiving([chunk(b"x", more=False)]), None, limit=10, floor_bytes_per_second=1)
    assert not turned


@pytest.mark.anyio
@pytest.mark.parametrize("waits", [False, True])
async def test_chunks_are_joined_in_order(waits: bool):
    messages = [chunk(b"ab", more=True), chunk(b"", more=True), chunk(b"cd", more=False)]
    assert await read_body(receiving(messages, waits=waits), None, limit=4, floor_bytes_per_second=1) == b"abcd"


@pytest.mark.anyio
async def test_a_body_that_makes_the_reader_wait_arrives_all_the_same():
    messages = [chunk(b"late", more=False)]
    assert await read_body(receiving(messages, waits=True), 4, limit=4, floor_bytes_per_second=1) == b"late"


@pytest.mark.anyio
async def test_a_declared_length_above_the_limit_is_refused_unread():
    async def receive() -> dict[str, Any]:
        raise AssertionError("the body must not be asked for")

    with pytest.raises(LimitExceeded, match="10 bytes"):
        await read_body(receive, 11, limit=10)


@pytest.mark.anyio
@pytest.mark.parametrize("messages", [[chunk(b"x" * 11, more=False)], [chunk(b"x" * 6, more=True)] * 2])
@pytest.mark.requirement("access:limits:body")
async def test_a_body_that_grows_past_the_limit_is_refused(messages: list[dict[str, Any]]):
    with pytest.raises(LimitExceeded):
        await read_body(receiving(messages), None, limit=10)


@pytest.mark.anyio
@pytest.mark.parametrize("before", [[], [chunk(b"x", more=True)]])
async def test_a_client_that_goes_away_is_told_apart(before: list[dict[str, Any]]):
    with pytest.raises(ClientDisconnected):
        await read_body(receiving([*before, {"type": "http.disconnect"}]), None, limit=10)


@pytest.mark.anyio
@pytest.mark.parametrize("before", [[], [chunk(b"x", more=True)]])
async def test_a_body_that_stops_coming_is_given_up(before: list[dict[str, Any]]):
    with pytest.raises(BodyTooSlow) as caught:
        await read_body(receiving(before), None, limit=10, floor_bytes_per_second=1000, grace_seconds=0.02)
    assert caught.value.http_status == 408


@pytest.mark.anyio
async def test_bytes_received_buy_time_at_the_floor_rate():
    clock = FixedClock()
    left = [chunk(b"x" * 10, more=True)] * 3 + [chunk(b"", more=False)]
    sent = 0

    async def receive() -> dict[str, Any]:
        nonlocal sent
        await asyncio.sleep(0)
        clock.time += 10.0  # ten bytes in ten seconds: exactly the floor
        sent += 1
        return left[sent - 1]

    body = await read_body(receive, None, limit=100, floor_bytes_per_second=1, grace_seconds=15.0, clock=clock)
    assert len(body) == 30


@pytest.mark.anyio
@pytest.mark.requirement("access:limits:body-pace")
async def test_a_drip_below_the_floor_is_given_up_though_it_never_stops():
    clock = FixedClock()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.time += 2.0
        return chunk(b"x", more=True)

    with pytest.raises(BodyTooSlow):
        await read_body(receive, None, limit=10_000, floor_bytes_per_second=1, grace_seconds=5.0, clock=clock)


@pytest.mark.anyio
async def test_cancelling_the_call_reaches_the_waiting_receive():
    reached = asyncio.Event()
    cancelled = asyncio.Event()

    async def receive() -> dict[str, Any]:
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    reading = asyncio.create_task(read_body(receive, None, limit=10, floor_bytes_per_second=1))
    async with asyncio.timeout(60):
        await reached.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert cancelled.is_set()


@pytest.mark.anyio
async def test_a_body_read_by_somebody_else_keeps_the_same_bounds():
    receive = bounded_receive(receiving([chunk(b"ab", more=True), chunk(b"cd", more=False)]), None, limit=4)
    assert [(await receive())["body"], (await receive())["body"]] == [b"ab", b"cd"]
    growing = bounded_receive(receiving([chunk(b"ab", more=True), chunk(b"cde", more=False)]), None, limit=4)
    await growing()
    with pytest.raises(LimitExceeded):
        await growing()
    with pytest.raises(LimitExceeded):
        bounded_receive(receiving([]), 5, limit=4)
    gone = bounded_receive(receiving([chunk(b"ab", more=True), {"type": "http.disconnect"}]), None, limit=4)
    await gone()
    with pytest.raises(ClientDisconnected):
        await gone()


@pytest.mark.anyio
async def test_after_the_body_the_connection_speaks_for_itself():
    receive = bounded_receive(receiving([chunk(b"", more=False), {"type": "http.disconnect"}]), None, limit=4)
    await receive()
    assert (await receive())["type"] == "http.disconnect"


@pytest.mark.anyio
async def test_a_body_read_by_somebody_else_must_keep_its_pace():
    receive = bounded_receive(
        receiving([chunk(b"a", more=True)], waits=True), None, limit=99, floor_bytes_per_second=1000, grace_seconds=0.01
    )
    await receive()
    with pytest.raises(BodyTooSlow):
        await receive()


@pytest.mark.anyio
async def test_the_rest_of_a_refused_body_is_read_within_bounds():
    more, last = chunk(b"12345", more=True), chunk(b"6", more=False)
    assert await drained(receiving([more, more, last]), most=10, seconds=5)
    assert not await drained(receiving([more, more, more, last]), most=10, seconds=5)
    assert not await drained(receiving([more]), most=10, seconds=0.01)
    assert not await drained(receiving([more, {"type": "http.disconnect"}]), most=10, seconds=5)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("messages", "declared", "rest"),
    [
        ([], 11, 11),
        ([chunk(b"12345678901", more=False)], None, 0),
        ([chunk(b"123456", more=True), chunk(b"123456", more=False)], None, 0),
        ([chunk(b"12345678901", more=True)], None, 1),
    ],
)
async def test_a_body_that_is_too_large_says_whether_more_of_it_comes(
    messages: list[dict[str, Any]], declared: int | None, rest: int
):
    with pytest.raises(BodyTooLarge) as refused:
        await read_body(receiving(messages), declared, limit=10)
    assert refused.value.rest == rest
