"""Takes the messages of a stream in as they come, so that what has arrived can be worked on together.

A stream answers in order, one answer for one request. Done one by one, each would wait for its own commit; read ahead,
all that arrived during one commit share the next. How much is held is bounded by number and by bytes, so that a fast
sender waits for a slow store.
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
    """What has arrived and was not taken yet."""

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
        """Whether something has arrived that nobody has taken."""
        return bool(self._waiting)

    async def batch(self) -> list[T]:
        """All that has arrived, at least one; empty at the end of the stream. A failure comes in its turn."""
        while not self._waiting and not self._ended:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._waiting and self._failure is not None:
            raise self._failure
        taken, self._waiting, self._bytes = self._waiting, [], 0
        self._room.set()
        return taken

    async def fill(self, stream: AsyncIterable[bytes], read: Callable[[bytes], Awaitable[T]]) -> None:
        """Read the stream to its end, or to the first message that cannot be read."""
        try:
            async for raw in stream:
                self._waiting.append(await read(raw))
                self._bytes += len(raw)
                self._arrived.set()
                while len(self._waiting) >= self._messages or self._bytes >= self._most_bytes:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:  # noqa: BLE001  raised again by batch(), after what came before it was answered
            self._failure = error
        finally:
            self._ended = True
            self._arrived.set()


@asynccontextmanager
async def reading_ahead(
    stream: AsyncIterable[bytes], read: Callable[[bytes], Awaitable[T]], *, messages: int = MESSAGES_MOST
) -> AsyncGenerator[ReadAhead[T]]:
    """Read a stream in the background for as long as the block lasts."""
    ahead = ReadAhead[T](messages=messages)
    task = asyncio.create_task(ahead.fill(stream, read))
    try:
        yield ahead
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
