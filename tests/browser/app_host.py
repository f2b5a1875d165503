"""A minimal host of MCP Apps: two pages from two ports, which are two origins. It passes on a view's requests to a
real Pentad, as a client of the modern protocol that declares the extension, or does not."""

import json
from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

FILES: Final = Path(__file__).with_name("host")
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " media-src 'self' data:; object-src 'none'; connect-src 'none'; frame-src 'self'"
)
"""The default policy of the specification for a view; the frame inside inherits it."""
MODERN: Final = "2026-07-28"
META: Final = "io.modelcontextprotocol/"
EXTENSION: Final = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}


@dataclass(frozen=True)
class Client:
    """A client of a running Pentad."""

    site: str
    login: tuple[str, str]
    path: str = "/mcp"

    def ask(self, method: str, params: dict[str, Any], *, declares: bool = True) -> dict[str, Any]:
        """The whole answer: `result` or `error`."""
        meta = {
            META + "protocolVersion": MODERN,
            META + "clientCapabilities": EXTENSION if declares else {},
            META + "clientInfo": {"name": "minimal", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "authorization": f"Basic {b64encode(':'.join(self.login).encode()).decode()}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": MODERN,
            "mcp-method": method,
        }
        if (name := params.get("name") or params.get("uri")) is not None:
            headers["mcp-name"] = name
        request = Request(f"{self.site}{self.path}", json.dumps(body).encode(), headers, method="POST")
        try:
            with urlopen(request, timeout=60) as answer:
                return _message(answer.read().decode())
        except HTTPError as error:
            return _message(error.read().decode())

    def result(self, method: str, params: dict[str, Any], *, declares: bool = True) -> dict[str, Any]:
        answer = self.ask(method, params, declares=declares)
        assert "result" in answer, answer
        return answer["result"]


def _message(text: str) -> dict[str, Any]:
    """The last message of an answer, which may be a stream of events."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    found: dict[str, Any] = json.loads(lines[-1] if lines else text)
    return found


@contextmanager
def hosting(client: Client) -> Generator[tuple[str, str]]:
    """The origins of the host's page and of its sandbox."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = FILES / self.path.rpartition("/")[2]
            if not file.is_file():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            if file.name == "sandbox.html":
                self.send_header("content-security-policy", POLICY)
            self.end_headers()
            self.wfile.write(file.read_bytes())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = client.ask(asked["method"], asked["params"], declares=asked["declares"])
            body = json.dumps({key: answer[key] for key in ("result", "error") if key in answer}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name in the standard library
            """Print no log."""

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    for one in servers:
        Thread(target=one.serve_forever, daemon=True).start()
    try:
        host, sandbox = (f"http://127.0.0.1:{one.server_address[1]}" for one in servers)
        yield host, sandbox
    finally:
        for one in servers:
            one.shutdown()
            one.server_close()
