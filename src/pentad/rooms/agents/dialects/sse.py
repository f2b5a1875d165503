"""Tasks as server-sent events. An event's `id:` is its number in the task's log, in every dialect.

What an event says is written once for each dialect and shared by all that follow the task; only the envelope around it
is a reader's own. An entry of the log that a dialect has no word for still moves the reader's number on.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from pentad.rooms.agents.dialects import v03, v10
from pentad.rooms.agents.dialects.agentvault import Writer
from pentad.rooms.agents.tasks.model import Dialect, Event, Json, Task

HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
HEARTBEAT: Final = b": still here\n\n"
HEARTBEAT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 8 * 1024 * 1024
_encode: Final = msgspec.json.Encoder().encode


class Told:
    """The latest events in the words of each dialect, as far as they fit."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, str], bytes] = OrderedDict()
        self._size = 0

    def words(self, task_id: str, seq: int, manner: str, write: Callable[[], bytes]) -> bytes:
        """What was written for this event in this manner, or is now."""
        key = (task_id, seq, manner)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = write()
            self._size += len(kept)
            while self._size > _MOST_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1])
        return kept


class Voice:
    """Tells one reader of one task."""

    def __init__(self, told: Told, task_id: str, context_id: str) -> None:
        self._told = told
        self._task_id = task_id
        self._context_id = context_id

    def frame(self, item: Event | Task) -> bytes:
        raise NotImplementedError

    def failed(self, error: Json) -> bytes:
        raise NotImplementedError


class A2aVoice(Voice):
    """A2A 0.3 and 1.0: results in the envelope of the request (JSON-RPC) or in none (HTTP+JSON)."""

    def __init__(self, told: Told, task_id: str, context_id: str, dialect: Dialect, request_id: bytes | None) -> None:
        super().__init__(told, task_id, context_id)
        self._dialect = dialect
        self._open, self._close = (
            (b"", b"") if request_id is None else (b'{"jsonrpc":"2.0","id":%b,"result":' % request_id, b"}")
        )
        self._request_id = request_id

    def frame(self, item: Event | Task) -> bytes:
        if isinstance(item, Task):
            said = _encode(v03.task(item) if self._dialect == "0.3" else {"task": v10.task(item)})
        else:
            said = self._told.words(self._task_id, item.seq, self._dialect, lambda: self._event(item))
        if not said:
            return b""  # a number alone would do, but widespread readers take it for an event without JSON
        return b"id: %d\ndata: %b%b%b\n\n" % (item.seq, self._open, said, self._close)

    def single(self, result: Json) -> bytes:
        """An answer that is no task's."""
        return b"data: %b%b%b\n\n" % (self._open, _encode(result), self._close)

    def failed(self, error: Json) -> bytes:
        if self._request_id is None:
            return b"event: error\ndata: %b\n\n" % _encode(error)
        return b'data: {"jsonrpc":"2.0","id":%b,"error":%b}\n\n' % (self._request_id, _encode(error))

    def _event(self, event: Event) -> bytes:
        write = v03.event if self._dialect == "0.3" else v10.event
        body = write(event, self._task_id, self._context_id)
        return b"" if body is None else _encode(body)


class AgentVaultVoice(Voice):
    """The profile's named events. Where one entry is two of them, its number stands at the last, and at the first with
    a place behind it: `7.1`, then `7`. Who has heard only so many parts of an event is told the rest of it."""

    def __init__(
        self, told: Told, task_id: str, context_id: str, writer: Writer, site: str, heard: tuple[int, int] = (0, 0)
    ) -> None:
        super().__init__(told, task_id, context_id)
        self._writer = writer
        self._manner = f"agentvault {site}"
        self._heard = heard

    def frame(self, item: Event | Task) -> bytes:
        if isinstance(item, Task):
            return b""
        words = self._told.words(self._task_id, item.seq, self._manner, lambda: self._event(item))
        return _behind(words, self._heard[1]) if item.seq == self._heard[0] else words

    def failed(self, error: Json) -> bytes:
        return b"event: error\ndata: %b\n\n" % _encode(error)

    def _event(self, event: Event) -> bytes:
        told = self._writer.events(event, self._task_id)
        frames = [b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(body)) for name, body in told]
        if not frames:
            return b"id: %d\n\n" % event.seq
        parts = [b"id: %d.%d\n%b" % (event.seq, place, frame) for place, frame in enumerate(frames[:-1], 1)]
        return b"".join([*parts, b"id: %d\n%b" % (event.seq, frames[-1])])


def _behind(words: bytes, places: int) -> bytes:
    """The frames of one event but for the first so many; of the last there is always something left to say."""
    return b"\n\n".join(words.split(b"\n\n")[min(places, words.count(b"\n\n") - 1) :])
