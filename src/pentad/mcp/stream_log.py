"""The log of a session's event streams, so that a client can resume one after a lost connection without gaps.

An event's id is `<stream>.<number>`. Events are stored in small batches while the answer is being sent. A client that
resumes, in any process, gets them from the store and then follows the stream to its end.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from pentad.kernel.background import start_task
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.ports import Database, Rows, Transaction

_CHANNEL: Final = "mcp.stream"
_KEEP_SECONDS: Final = 3600
_WAIT_SECONDS: Final = 15.0
_LOOKUPS: Final = 5
_LOOKUP_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One message of a stream."""

    stream: str
    seq: int
    body: bytes
    last: bool

    @property
    def id(self) -> str:
        return f"{self.stream}.{self.seq}"


class StreamLog:
    """Appends events and replays them."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._pending: list[tuple[str, StreamEvent]] = []
        self._writer: asyncio.Task[None] | None = None
        self._followers: set[asyncio.Event] = set()
        self._stop_listening = database.listen(_CHANNEL, self._wake_followers)

    def new_stream(self) -> str:
        return opaque_id(size=12)

    def append(self, session: str, event: StreamEvent) -> None:
        """Log an event. It is stored soon, at the latest when `flush` returns."""
        self._pending.append((session, event))
        if self._writer is None or self._writer.done():
            self._writer = start_task(self._write_pending(), "stream log")

    async def flush(self) -> None:
        if self._writer is not None:
            await asyncio.shield(self._writer)

    async def _write_pending(self) -> None:
        """Store the pending events. A failure is only logged: the client received the event, but cannot resume from
        there."""
        while self._pending:
            batch, self._pending = self._pending, []
            try:
                await self._database.write(partial(_insert, batch=batch, now=self._clock.now()))
            except PentadError as error:
                ensure_logged(error, "Storing the events of streams")

    def _wake_followers(self, _stream: str) -> None:
        for follower in self._followers:
            follower.set()

    async def follow(self, session: str, stream: str, after: int) -> AsyncIterator[StreamEvent | None]:
        """Yield the events of a stream after a number, up to the last. Yields None if there was none for a while."""
        await self.flush()
        changed = asyncio.Event()
        self._followers.add(changed)
        try:
            while not await self._is_over(session, stream, after):
                changed.clear()
                events = await self._database.read(partial(_select, session=session, stream=stream, after=after))
                for event in events:
                    yield event
                    after = event.seq
                    if event.last:
                        return
                if not events:
                    try:
                        await asyncio.wait_for(changed.wait(), _WAIT_SECONDS)
                    except TimeoutError:
                        yield None
        finally:
            self._followers.discard(changed)

    async def _is_over(self, session: str, stream: str, after: int) -> bool:
        """Whether the stream's last event has this number or a lower one."""
        found = await self._database.lookup(
            "SELECT 1 FROM mcp_stream_events WHERE stream = ? AND session = ? AND seq <= ? AND last = 1 LIMIT 1",
            stream,
            session,
            after,
        )
        return found is not None

    async def exists(self, session: str, stream: str) -> bool:
        """Whether the session has this stream. Looks several times, as another process may be about to store it."""
        await self.flush()
        for _ in range(_LOOKUPS):
            found = await self._database.lookup(
                "SELECT 1 FROM mcp_stream_events WHERE stream = ? AND session = ? LIMIT 1", stream, session
            )
            if found is not None:
                return True
            await asyncio.sleep(_LOOKUP_SECONDS)
        return False

    async def close(self) -> None:
        self._stop_listening()
        await self.flush()


def _insert(transaction: Transaction, batch: list[tuple[str, StreamEvent]], now: float) -> None:
    transaction.run("DELETE FROM mcp_stream_events WHERE sent_at < ?", now - _KEEP_SECONDS)
    alive = {
        session
        for session in {session for session, _ in batch}
        if transaction.one("SELECT 1 FROM mcp_sessions WHERE id = ?", session) is not None
    }
    transaction.run_many(
        "INSERT INTO mcp_stream_events (stream, seq, session, body, last, sent_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        [
            (event.stream, event.seq, session, event.body, int(event.last), now)
            for session, event in batch
            if session in alive
        ],
    )
    for stream in {event.stream for _, event in batch}:
        transaction.signal(_CHANNEL, stream)


def _select(rows: Rows, session: str, stream: str, after: int) -> list[StreamEvent]:
    found = rows.all(
        "SELECT seq, body, last FROM mcp_stream_events WHERE stream = ? AND session = ? AND seq > ? ORDER BY seq",
        stream,
        session,
        after,
    )
    return [StreamEvent(stream, seq, body, bool(last)) for seq, body, last in found]
