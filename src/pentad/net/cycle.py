"""One request and its answer on a connection, with a whole answer leaving in one write.

uvicorn writes an answer's head when it is told of it and the body after: two system calls and often two packets. ASGI
wants the head held until the first part of the body anyway, so here both leave together. Anything out of the ordinary
goes uvicorn's own way.
"""

from typing import Any, Final, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE, STATUS_LINE, RequestResponseCycle

_SLOW: Final = frozenset({b"connection", b"transfer-encoding"})
_MOST_LINES: Final = 4096


class OneWriteCycle(RequestResponseCycle):
    """uvicorn's cycle, faster for answers that are complete with their first body message."""

    flow: FlowControl
    _held: dict[str, Any] | None = None

    async def send(self, message: Any) -> None:
        if not self.response_started and message["type"] == "http.response.start":
            self._held = cast("dict[str, Any]", message)
            return
        held, self._held = self._held, None
        if held is not None:
            if not message.get("more_body", False) and self._write_whole(held, message.get("body", b"")):
                return
            await super().send(cast("Any", held))
        await super().send(message)

    def _write_whole(self, start: dict[str, Any], body: bytes) -> bool:
        """Head and body at once; False, with nothing written, when the answer is not an ordinary one."""
        if self.disconnected or not self.keep_alive or self.flow.write_paused or self.scope["method"] == "HEAD":
            return False
        parts = [STATUS_LINE[start["status"]]]
        length: int | None = None
        for field in (*self.default_headers, *start["headers"]):
            line, said = _LINES.get(field) or _line(field)
            if line is None:
                return False
            if said is not None:
                length = said
            parts.append(line)
        if length != len(body):
            return False
        parts += (b"\r\n", body)
        self.response_started = True
        self.waiting_for_100_continue = False
        self.transport.write(b"".join(parts))
        self.response_complete = True
        self.message_event.set()
        self.on_response()
        return True


Line = tuple[bytes | None, int | None]
"""A header as it is written (None: leave it to uvicorn), and the content length it states, if it does."""

_LINES: Final[dict[tuple[bytes, bytes], Line]] = {}
"""Checked and encoded once each: the same few come in every answer."""


def _line(field: tuple[bytes, bytes]) -> Line:
    name, value = field[0].lower(), field[1]
    if name in _SLOW or HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        return None, None
    length = int(value) if name == b"content-length" and value.isdigit() else None
    if len(_LINES) >= _MOST_LINES:
        _LINES.clear()
    found = _LINES[name, value] = b"%b: %b\r\n" % (name, value), length
    return found
