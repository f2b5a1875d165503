"""Parses server-sent events: bytes in, events out, however the bytes are split.

The size of one event is limited, so that a peer cannot exhaust memory with an event that never ends.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Final

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import LimitExceeded

MAX_EVENT_BYTES: Final = 16 * MIB
CONTENT_TYPE: Final = "text/event-stream"

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name ("message" by default), its data, the last id so far, and whether this event set it."""

    name: str
    data: str
    id: str = ""
    has_id: bool = False


class EventReader:
    """Turns chunks into events."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._unended: list[bytes] = []
        self._data: list[bytes] = []
        self._name = b""
        self._id = b""
        self._has_id = False
        self._unended_bytes = 0
        self._data_bytes = 0
        self._after_return = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes."""
        if self._after_return and chunk[:1] == b"\n":  # the second half of a line end that was split between chunks
            chunk, self._after_return = chunk[1:], False
        if not chunk:
            return []
        self._after_return = chunk[-1:] == b"\r"
        *lines, last = _LINE_END.split(chunk)
        if lines:
            lines[0] = b"".join([*self._unended, lines[0]])
            self._unended, self._unended_bytes = [], 0
        self._unended.append(last)
        self._unended_bytes += len(last)
        ended = [event for line in lines if (event := self._take(line)) is not None]
        if self._unended_bytes + self._data_bytes > self._max_bytes:
            raise LimitExceeded(f"An event of the stream is larger than {self._max_bytes} bytes.")
        return ended

    def finish(self) -> ServerEvent | None:
        """The event that the end of the stream cut off, if it has any data."""
        line, self._unended = b"".join(self._unended), []
        if line:
            self._take(line)
        return self._take(b"")

    def _take(self, line: bytes) -> ServerEvent | None:
        if self._at_start:
            self._at_start, line = False, line.removeprefix(_BOM)
        if not line:
            return self._ended()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value:
            self._id, self._has_id = value, True
        return None

    def _ended(self) -> ServerEvent | None:
        data, name, has_id = self._data, self._name, self._has_id
        self._data, self._data_bytes, self._name, self._has_id = [], 0, b"", False
        if not data:
            return None
        return ServerEvent(_text(name) or "message", _text(b"\n".join(data)), _text(self._id), has_id)


async def events(
    chunks: AsyncIterator[bytes], *, max_event_bytes: int = MAX_EVENT_BYTES, keep_unfinished: bool = False
) -> AsyncGenerator[ServerEvent]:
    """The events of a response. `keep_unfinished` adds one that the end of the response cut off."""
    reader = EventReader(max_event_bytes)
    async for chunk in chunks:
        for event in reader.feed(chunk):
            yield event
    if keep_unfinished and (last := reader.finish()) is not None:
        yield last


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
