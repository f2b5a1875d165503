"""uvicorn's HTTP/1.1 protocol with the timeouts and caps it lacks.

uvicorn waits for ever for the rest of a header, for a keep-alive byte that is only a line break, and for a peer that
never reads. Here each connection notes until when it may wait, and the server's sweep (`guard.py`) ends what is
overdue. Built on uvicorn's internals on purpose: tests/net/test_server.py holds every behaviour a new release could
break. Bodies are the application's to bound (`body.py`).
"""

import asyncio
from math import inf
from typing import Any, Final

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from pentad.net.guard import LINGER_SECONDS, Guard

TIMED_OUT: Final = (b"408 Request Timeout", b"The request took too long to arrive.")
TOO_LARGE: Final = (b"431 Request Header Fields Too Large", b"The request's headers are too large.")
TOO_MANY: Final = (b"429 Too Many Requests", b"Too many connections from this address.")
INVALID: Final = (b"400 Bad Request", b"This is not a valid HTTP request.")


class GuardedConfig(Config):
    """uvicorn's settings plus the guard that its connections share."""

    guard: Guard


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
        self.deadline = inf
        self.write_deadline = inf
        self._unsent = 0
        self._in_headers = False
        self._header_bytes = 0
        self._admitted: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.deadline = self.guard.now + self.guard.header_seconds
        if self.client is not None:
            if not self.guard.admit(self.client[0]):
                self._answer_and_close(TOO_MANY)
                return
            self._admitted = self.client[0]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._admitted is not None:
            self.guard.release(self._admitted)
            self._admitted = None
        super().connection_lost(exc)

    # What arrives

    def data_received(self, data: bytes) -> None:
        if self._header_bytes + len(data) > self.guard.header_bytes:
            self._receive_in_slices(data)
        else:
            self._receive(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers = True
        self.deadline = self.guard.now + self.guard.header_seconds

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:  # what follows a chunked body is not a header of the request, and has no bound
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._header_bytes = 0
        self.deadline = inf
        super().on_headers_complete()

    def _receive(self, data: bytes) -> None:
        all_of_it_is_header = self._in_headers or not self.cycle
        super().data_received(data)
        if self._in_headers and all_of_it_is_header:  # else the piece began with the end of another request
            self._header_bytes += len(data)

    def _receive_in_slices(self, data: bytes) -> None:
        """Only when headers could pass their cap: no slice is larger than what the headers may still take."""
        start = 0
        while start < len(data) and not self.transport.is_closing():
            room = self.guard.header_bytes - self._header_bytes
            if room <= 0:
                self._answer_and_close(TOO_LARGE)
                return
            self._receive(data[start : start + room])
            start += room

    # What is answered

    def on_response_complete(self) -> None:
        """uvicorn's own, with a deadline in place of its keep-alive timer: one timer less for each request."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self.deadline = self.guard.now + self.guard.write_seconds
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        elif self.cycle.more_body:
            # The rest of a refused body is read and dropped for a moment: closing now would destroy the answer.
            self.deadline = self.guard.now + LINGER_SECONDS
        elif not self._in_headers:
            self.deadline = self.guard.now + self.guard.keep_alive_seconds

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self.write_deadline = self.guard.now + self.guard.write_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        self.write_deadline = inf

    def send_400_response(self, msg: str) -> None:
        self._answer_and_close(INVALID)

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self.deadline = self.guard.now + self.guard.write_seconds

    def _answer_and_close(self, answer: tuple[bytes, bytes]) -> None:
        """A plain answer, unless one is on its way already: two must not be mixed."""
        if not self._is_answering():
            status, text = answer
            self.transport.write(
                b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%b" % (status, len(text), text)
            )
        self._close()

    def _is_answering(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _close(self) -> None:
        self.transport.close()
        self.deadline = self.guard.now + self.guard.write_seconds

    def _unsupported_upgrade_warning(self) -> None:
        """The request is answered as plain HTTP; a client that offers an upgrade is no news."""

    # What the sweep finds

    def overdue(self) -> None:
        """The peer kept this connection waiting: answer if it had begun to speak, then close."""
        if self.transport.is_closing():
            self.transport.abort()
        elif self._is_answering():
            self.deadline = self.guard.now + self.guard.header_seconds  # half a request behind one being answered
        elif self._in_headers:
            self._answer_and_close(TIMED_OUT)
        else:
            self._close()

    def unread(self) -> None:
        """The write buffer has been full for a while: go on only if the peer read at the floor rate or better."""
        unsent = self.transport.get_write_buffer_size()
        if self._unsent - unsent < max(1, self.guard.write_floor * self.guard.write_seconds):
            self.transport.abort()
        else:
            self._unsent = unsent
            self.write_deadline = self.guard.now + self.guard.write_seconds
