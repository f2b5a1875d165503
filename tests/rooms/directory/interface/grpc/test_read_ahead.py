"""Reading ahead: messages that arrive together are processed together, in order, within limits."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.interface.grpc.store_service import ReadAhead, read_ahead

pytestmark = pytest.mark.anyio


async def stream(*messages: bytes) -> AsyncIterator[bytes]:
    for message in messages:
        yield message


async def text(raw: bytes) -> str:
    if raw == b"bad":
        raise InvalidInput("bad")
    return raw.decode()


async def test_what_has_arrived_is_taken_together() -> None:
    async with read_ahead(stream(b"a", b"b", b"c"), text) as ahead:
        assert await ahead.batch() == ["a", "b", "c"]
        assert await ahead.batch() == []
        assert await ahead.batch() == []


async def test_a_message_that_cannot_be_read_fails_in_its_turn() -> None:
    async with read_ahead(stream(b"a", b"b", b"bad", b"c"), text) as ahead:
        assert await ahead.batch() == ["a", "b"]
        with pytest.raises(InvalidInput):
            await ahead.batch()


@pytest.mark.parametrize("bounds", [{"messages": 2}, {"most_bytes": 2}])
async def test_no_more_is_held_than_the_bounds_allow(bounds: dict[str, int]) -> None:
    read: list[bytes] = []

    async def counted() -> AsyncIterator[bytes]:
        for number in range(6):
            message = str(number).encode()
            read.append(message)
            yield message

    ahead = ReadAhead[str](**bounds)
    task = asyncio.create_task(ahead.fill(counted(), text))
    assert await ahead.batch() == ["0", "1"]
    taken = ["0", "1"]
    while batch := await ahead.batch():
        assert len(batch) <= 2
        taken += batch
        assert len(read) <= len(taken) + 2
    assert taken == ["0", "1", "2", "3", "4", "5"]
    await task


async def test_leaving_the_block_ends_the_reading() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.Event().wait()

    async with read_ahead(endless(), text) as ahead:
        assert await ahead.batch() == ["a"]
    assert asyncio.all_tasks() == {asyncio.current_task()} or all("fill" not in str(t) for t in asyncio.all_tasks())
