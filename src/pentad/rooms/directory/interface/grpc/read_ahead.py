"""Reads a stream ahead, so that messages that have arrived can be processed together.

A stream answers every request in order. One by one, each would wait for its own commit; read ahead, everything that
arrived during one commit shares the next. The buffer is bounded by count and bytes, so a fast sender waits for a slow
store.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MESSAGES_MOST: Final = 512
BYTES_MOST: Final = 8 * 1024 * 1024


class ReadAhead(Generic[T]):
    """The messages that have arrived and are not yet processed."""

    def __init__(self, *, messages: int = MESSAGES_MOST, most_bytes: int = BYTES_MOST) -> None:
        self._messages = messages
        self._most_bytes = most_bytes
        self._waiting: list[T] = []
        self._bytes = 0
        self._failure: BaseException | None = None
        self._ended = False
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def waiting(self) -> bool:
        """Whether messages are waiting."""
        return bool(self._waiting)

    async def batch(self) -> list[T]:
        """All waiting messages, at least one; empty at the end of the stream. Raises a failure after them."""
        while not self._waiting and not self._ended:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._waiting and self._failure is not None:
            raise self._failure
        taken, self._waiting, self._bytes = self._waiting, [], 0
        self._room.set()
        return taken

    async def fill(self, stream: AsyncIterable[bytes], read: Callable[[bytes], Awaitable[T]]) -> None:
        """Read the stream to its end, or to the first unreadable message."""
        try:
            async for raw in stream:
                self._waiting.append(await read(raw))
                self._bytes += len(raw)
                self._arrived.set()
                while len(self._waiting) >= self._messages or self._bytes >= self._most_bytes:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:  # noqa: BLE001  batch() raises it after the messages before it
            self._failure = error
        finally:
            self._ended = True
            self._arrived.set()


@asynccontextmanager
async def reading_ahead(
    stream: AsyncIterable[bytes], read: Callable[[bytes], Awaitable[T]], *, messages: int = MESSAGES_MOST
) -> AsyncGenerator[ReadAhead[T]]:
    """Read a stream in the background while the block runs."""
    ahead = ReadAhead[T](messages=messages)
    task = asyncio.create_task(ahead.fill(stream, read))
    try:
        yield ahead
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
