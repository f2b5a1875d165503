"""A server on the other end of a pipe, and a client that writes raw lines to it."""

import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any, Final

from tests.conformance.server import CONFORMANCE_ROOM, REPOSITORY, environment, pentad
from tests.conformance.wire import LEGACY, MODERN, PREFIX, Object

_SECONDS: Final = 60.0


class Pipe:
    """One `pentad mcp serve` and its two streams."""

    def __init__(self, data: Path) -> None:
        self._log = data / "stderr.log"
        with self._log.open("wb") as sink:
            self.process = subprocess.Popen(
                [pentad(), "mcp", "serve", "--rooms", CONFORMANCE_ROOM, "--data", str(data)],
                cwd=REPOSITORY,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Object | None = None, request_id: Any = None) -> None:
        """A request, or a notification when it has no id."""
        message: Object = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            message["id"] = request_id
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message).encode())

    def modern(
        self, method: str, params: Object | None = None, request_id: Any = 1, meta: Object | None = None
    ) -> None:
        envelope: Object = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": {}, **(meta or {})}
        self.send(method, {**(params or {}), "_meta": envelope}, request_id)

    def next(self) -> Object:
        """The next line, which must be one JSON-RPC message."""
        line = self._lines.get(timeout=_SECONDS)
        if not line:
            raise EOFError(f"The server ended: {self._log.read_text(encoding='utf-8', errors='replace')}")
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, request_id: Any) -> Object:
        """The answer to a request; what is said before it is passed over."""
        while (message := self.next()).get("id") != request_id or "method" in message:
            pass
        return message

    def handshake(self, version: str = LEGACY, capabilities: Object | None = None) -> Object:
        client = {"name": "pipe", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": client}
        self.send("initialize", params, "hello")
        agreed = self.answer("hello")["result"]
        self.send("notifications/initialized")
        return agreed

    def end(self) -> tuple[int, list[bytes]]:
        """Close the server's input; how it ended, and what it still said."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        status = self.process.wait(_SECONDS)
        self._reader.join(_SECONDS)
        self.process.stdout.close()
        return status, [line for line in self._lines.queue if line]
