"""`pentad call --url` against servers that misbehave: every answer has an exit code and a sentence."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pentad.settings.model import Settings
from tests.cli.processes import run
from tests.cli.server_thread import serving

Answer = tuple[int, dict[str, str], bytes]
TOOL = {"name": "greet", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}


@contextmanager
def server(answer: Callable[[dict[str, Any], dict[str, str]], Answer]) -> Generator[str]:
    """A server on this machine that answers as told; the messages it got are given to `answer`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers, body = answer(message, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_DELETE(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *_: Any) -> None:  # noqa: A002  the base class's name
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/mcp"
        finally:
            listening.shutdown()
            thread.join()


def plain(status: int, body: bytes = b"", **headers: str) -> Callable[..., Answer]:
    return lambda *_: (status, headers, body)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (plain(401), 4),
        (plain(403), 4),
        (plain(404), 3),
        (plain(500), 5),
        (plain(503), 5),
        (plain(200, b"<html>hello</html>"), 5),
        (plain(200, b"[]"), 5),
        (plain(200, b'{"jsonrpc": "2.0", "id": 0}'), 5),
        (plain(200, b'{"jsonrpc": "2.0", "id": 0, "error": {"code": -1, "message": "Not today."}}'), 1),
    ],
)
def test_an_answer_that_is_no_handshake_ends_with_its_code(
    tmp_path: Path, answer: Callable[..., Answer], code: int
) -> None:
    with server(answer) as url:
        done = run("call", "greet", "--url", url, home=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_login_is_not_carried_to_where_a_server_points(tmp_path: Path) -> None:
    reached: list[dict[str, str]] = []

    def note(_message: dict[str, Any], headers: dict[str, str]) -> Answer:
        reached.append(headers)
        return 200, {}, b"{}"

    with server(note) as elsewhere, server(plain(307, Location=elsewhere)) as url:
        done = run("call", "greet", "--url", url, "--token", "pentad_secret", home=tmp_path)
    assert done.returncode != 0
    assert reached == []


@pytest.mark.requirement("cli:call:url")
@pytest.mark.parametrize("path", ["", "/", "/mcp", "/rooms/registers/mcp"])
def test_the_address_of_a_server_is_enough(tmp_path: Path, path: str) -> None:
    settings = Settings(data=tmp_path / "data", rooms=("registers",), auth="none")
    with serving(settings) as site:
        done = run("call", "registers", "action=list", "--url", site + path, "--json", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["structuredContent"]["results"] == []


@pytest.mark.requirement("cli:call:url")
def test_pages_sessions_and_streams_are_followed(tmp_path: Path) -> None:
    seen: list[tuple[str, str | None]] = []

    def answer(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        seen.append((message["method"], headers.get("mcp-session-id")))
        params = message.get("params", {})
        result: dict[str, Any] = {"content": [{"type": "text", "text": f"Hello, {params.get('arguments')}"}]}
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18"}
        elif message["method"] == "tools/list":
            result = {"tools": [TOOL]} if params else {"tools": [], "nextCursor": "more"}
        elif message["method"].startswith("notifications/"):
            return 202, {}, b""
        reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        if message["method"] == "tools/call":
            noise = b'event: message\r\ndata: {"jsonrpc": "2.0", "method": "notifications/progress"}\r\n\r\n'
            return (
                200,
                {"Content-Type": "text/event-stream"},
                b": hello\r\n\r\n" + noise + b"data: " + reply + b"\r\n\r\n",
            )
        return 200, {"Content-Type": "application/json", "Mcp-Session-Id": "s1"}, reply

    with server(answer) as url:
        done = run("call", "greet", "name=Ada", "--url", url, home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Hello, {'name': 'Ada'}\n")
    assert seen[0] == ("initialize", None)
    assert {session for _, session in seen[1:]} == {"s1"}
