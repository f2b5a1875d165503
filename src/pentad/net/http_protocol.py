"""uvicorn's HTTP/1.1 protocol with the timeouts and limits it lacks.

uvicorn waits forever for the rest of a header, after a keep-alive byte that is only a line break, and for a client that
never reads. Here each connection has a deadline, and the server's sweep (`connection_guard.py`) ends what is overdue.
uvicorn also loses the body of a request that offers an upgrade, as Java's HTTP client does on every call. This is built
on uvicorn's internals on purpose: tests/net/test_http_server.py covers every behaviour a new release could break. The
application limits bodies itself (`request_body.py`).
"""

import asyncio
from functools import lru_cache
from math import inf
from typing import Any, Final, cast
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from pentad.net.connection_guard import ConnectionGuard
from pentad.net.forwarded import TrustedProxies

TIMED_OUT: Final = (b"408 Request Timeout", b"The request took too long to arrive.")
TOO_LARGE: Final = (b"413 Content Too Large", b"The request's headers are too large.")
TOO_MANY: Final = (b"429 Too Many Requests", b"Too many connections from this address.")
INVALID: Final = (b"400 Bad Request", b"This is not a valid HTTP request.")
_LEFT_TO_UVICORN: Final = frozenset({b"connection", b"transfer-encoding"})
_MOST_LINES: Final = 4096
_REQUEST_ID: Final = b"x-request-id"


class _Dropped(list[tuple[bytes, bytes]]):
    """Drops the trailers of a chunked body: they are not headers of the request, and uvicorn does not limit them."""

    def append(self, _field: tuple[bytes, bytes], /) -> None:
        """Ignore the trailer."""


_DROPPED: Final = _Dropped()


@lru_cache(maxsize=256)
def _parts(url: bytes) -> tuple[str, bytes, bytes, bool]:
    """The path as text and as sent, the query, and whether the URL was only a path. Cached: URLs repeat."""
    parsed = parse_url(url)
    raw: bytes = parsed.path or b"/"
    path = raw.decode("ascii")
    return unquote(path) if "%" in path else path, raw, parsed.query or b"", url.startswith((b"/", b"*"))


class GuardedConfig(Config):
    """uvicorn's settings, plus the guard its connections share."""

    guard: ConnectionGuard
    proxies: TrustedProxies


class GuardedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: GuardedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.guard = config.guard
        self.proxies = config.proxies
        self._application: Any = vars(config)["loaded_app"]  # its declared type is partly unknown
        self.deadline = inf
        self.write_deadline = inf
        self._unsent = 0
        self._in_headers = False
        self._header_bytes = 0
        self._admitted: str | None = None
        self._ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.deadline = self.guard.now + self.guard.header_seconds
        if self.client is not None:
            if self.proxies.trust(self.client[0]):
                return
            if not self.guard.admit(self.client[0]):
                self._write_answer(TOO_MANY)
                self._close()
                return
            self._admitted = self.client[0]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._admitted is not None:
            self.guard.release(self._admitted)
            self._admitted = None
        super().connection_lost(exc)

    # Incoming data

    def data_received(self, data: bytes) -> None:
        if self._header_bytes + len(data) > self.guard.header_bytes:
            self._receive_in_slices(data)
        else:
            self._receive(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers = True
        self.deadline = self.guard.now + self.guard.header_seconds

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._header_bytes = 0
        self.deadline = inf
        if not self.parser.should_upgrade():
            self._begin_cycle()
            self.headers = _DROPPED

    def _begin_cycle(self) -> None:
        """uvicorn's own method, but with our cycle: one server, no mount path, no upgrades, our limits."""
        parser, scope = self.parser, self.scope
        version = parser.get_http_version()
        scope["method"] = parser.get_method().decode("ascii")
        scope["http_version"] = version
        scope["path"], scope["raw_path"], scope["query_string"], is_path = _parts(self.url)
        if not is_path:
            # A whole URL. The application checks whether it names this server.
            cast("dict[str, Any]", scope)["target"] = self.url
        answering = self._is_answering()
        self.cycle = OneWriteCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if answering:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self._application))
        else:
            self._start_asgi_task(self.cycle, self._application)

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade() and not self.cycle.response_complete:
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def _receive(self, data: bytes) -> None:
        before = self.cycle
        all_of_it_is_header = self._in_headers or not before
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._receive_without_upgrade(data[upgrade.args[0] :])
        except HttpParserError:
            self._refuse(INVALID)
        if self._in_headers and all_of_it_is_header and self.cycle is before:
            self._header_bytes += len(data)

    def _receive_in_slices(self, data: bytes) -> None:
        """Only used when headers could exceed their limit: no slice is larger than the space left for headers."""
        start = 0
        while start < len(data) and not self._ended and not self.transport.is_closing():
            room = self.guard.header_bytes - self._header_bytes
            if room <= 0:
                self._refuse(TOO_LARGE)
                return
            self._receive(data[start : start + room])
            start += room

    def _receive_without_upgrade(self, rest: bytes) -> None:
        """Parse the request again as if no upgrade had been offered: the parser does not treat what follows as HTTP."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(INVALID)
            return
        kept = [b"%b: %b\r\n" % field for field in self.headers if field[0] not in (b"upgrade", b"connection")]
        self.parser = HttpRequestParser(self)
        self._receive(b"%b %b HTTP/1.1\r\n%b\r\n%b" % (method, self.url, b"".join(kept), rest))

    # Responses

    def on_response_complete(self) -> None:
        """uvicorn's own method, but with a deadline in place of its keep-alive timer: one timer less per request."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self.deadline = self.guard.now + self.guard.write_seconds
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self.cycle.more_body:
            # Keep reading and dropping a refused body for a moment: closing now would destroy the answer.
            self.deadline = self.guard.now + self.guard.linger_seconds
        elif not self._in_headers:
            self.deadline = self.guard.now + self.guard.keep_alive_seconds

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self.write_deadline = inf

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self.deadline = self.guard.now + self.guard.write_seconds

    def _is_answering(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _refuse(self, answer: tuple[bytes, bytes]) -> None:
        """Answer and close, but first drop incoming data for a moment: closing at once would destroy the answer."""
        if self._is_answering() or not self.transport.can_write_eof():
            self._close()  # never mix two answers
            return
        self._write_answer(answer)
        self.transport.write_eof()
        self._ended = True
        self._in_headers = False
        self._header_bytes = self.guard.header_bytes  # no room: all data takes the slow path, which drops it
        self.deadline = self.guard.now + self.guard.linger_seconds

    def _write_answer(self, answer: tuple[bytes, bytes]) -> None:
        status, text = answer
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%b" % (status, len(text), text)
        )

    def _close(self) -> None:
        self.transport.close()
        self.deadline = self.guard.now + self.guard.write_seconds

    def _watch_reader(self, unsent: int) -> None:
        self._unsent = unsent
        self.write_deadline = self.guard.now + self.guard.write_seconds

    # Called by the sweep

    def request_overdue(self) -> None:
        """The client did not send in time: answer if it had begun a request, then close."""
        if unsent := self.transport.get_write_buffer_size():
            self.deadline = self.guard.now + self.guard.keep_alive_seconds
            if self.write_deadline == inf:
                self._watch_reader(unsent)
        elif self.transport.is_closing():
            self.transport.abort()
        elif self._is_answering():
            self.deadline = self.guard.now + self.guard.header_seconds  # half a request behind one being answered
        elif self._in_headers:
            self._refuse(TIMED_OUT)
        else:
            self._close()

    def response_unread(self) -> None:
        """The client has been slow to read: keep the connection only if it reads at the minimum rate or faster."""
        unsent = self.transport.get_write_buffer_size()
        least = max(1, self.guard.write_floor * self.guard.write_seconds)
        if unsent == 0:
            self.write_deadline = inf
        elif self._unsent - unsent < least:
            self.transport.abort()
        else:
            self._watch_reader(unsent)


class OneWriteCycle(RequestResponseCycle):
    """uvicorn's request-response cycle, but it sends a complete answer in one write.

    uvicorn writes an answer's head as soon as it gets it, and the body later: two system calls and often two packets.
    ASGI requires holding back the head until the first part of the body anyway, so here both are written together. A
    body that has already arrived is passed on without waiting. Anything unusual is left to uvicorn.
    """

    flow: FlowControl
    _held: dict[str, Any] | None = None

    async def receive(self) -> Any:
        if self.more_body or not self.body or self.response_complete or self.disconnected or self.flow.read_paused:
            return await super().receive()
        body, self.body = bytes(self.body), bytearray()
        self.message_event.clear()
        self.waiting_for_100_continue = False  # the client did not wait
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        if not self.response_started and message["type"] == "http.response.start":
            self._held = cast("dict[str, Any]", message)
            return
        held, self._held = self._held, None
        if held is not None:
            if not message.get("more_body", False) and self._write_whole(held, message.get("body", b"")):
                return
            if (request_id := self._request_id()) is not None:
                held["headers"] = [*held["headers"], (_REQUEST_ID, request_id)]
            await super().send(cast("Any", held))
        await super().send(message)

    def _write_whole(self, start: dict[str, Any], body: bytes) -> bool:
        """Write head and body at once. Returns False and writes nothing if the answer is unusual."""
        if self.disconnected or not self.keep_alive or self.flow.write_paused or self.scope["method"] == "HEAD":
            return False
        parts = [STATUS_LINE[start["status"]]]
        length: int | None = None
        for field in (*self.default_headers, *start["headers"]):
            line, stated = _LINES.get(field) or _line(field)
            if line is None:
                return False
            if stated is not None:
                length = stated
            parts.append(line)
        if length != len(body):
            return False
        if (request_id := self._request_id()) is not None:  # different each time, so not cached like the other lines
            parts.append(b"x-request-id: %b\r\n" % request_id)
        parts += (b"\r\n", body)
        self.response_started = True
        self.waiting_for_100_continue = False
        self.transport.write(b"".join(parts))
        self.response_complete = True
        self.message_event.set()
        self.on_response()
        return True

    def _request_id(self) -> bytes | None:
        """The application's id of the request: one line of plain characters."""
        found = cast("dict[str, Any]", self.scope).get("request_id")
        return None if found is None else found.encode("ascii")


Line = tuple[bytes | None, int | None]
"""An encoded header (None: leave it to uvicorn), and the content length it states, if any."""

_LINES: Final[dict[tuple[bytes, bytes], Line]] = {}
"""Each header is checked and encoded once, because the same few are in every answer."""


def _line(field: tuple[bytes, bytes]) -> Line:
    name, value = field[0].lower(), field[1]
    if name in _LEFT_TO_UVICORN or HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        return None, None
    length = int(value) if name == b"content-length" and value.isdigit() else None
    if len(_LINES) >= _MOST_LINES:
        _LINES.clear()
    found = _LINES[name, value] = b"%b: %b\r\n" % (name, value), length
    return found
