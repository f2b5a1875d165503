"""Callers without credentials cannot crowd out authenticated ones, whichever public path they hammer.

The paths come from the declarations: every route, mount and endpoint is asked once without credentials, and whatever
does not simply demand them is hammered. So are one such demand and wrong credentials.
"""

import asyncio
import base64
import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from pentad.access.audit import AuditEntry
from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.conformance.server import REPOSITORY, environment, pentad
from tests.ports import free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

CONNECTIONS = 64
CALLS = 150
WORST_RATIO = 10
TRIES = 3
"""A machine that is briefly busy is no fault of the server: only repeated failures count."""
PATIENCE = 30.0
ALWAYS = {"/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/llms.txt", "/.well-known/agent-card.json"}
AGENT = "pentad.rooms.agents.interface.demo:TreeSurvey"
CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "registers", "arguments": {"action": "list"}},
    }
).encode()

Sent = tuple[str, str, tuple[tuple[str, str], ...]]


@pytest.mark.requirement("access:anonymous:bounded")
def test_an_authenticated_call_stays_quick_while_64_anonymous_connections_hammer_any_public_path(
    tmp_path: Path,
) -> None:
    settings = Settings(data=tmp_path / "data", agent=(AGENT,))
    token, requests = asyncio.run(prepared(settings))
    assert {path for _, path, _ in requests} >= ALWAYS
    with serving(settings) as port, hammering(port) as hammer, closing(Caller(port, token)) as caller:
        caller.p99(CALLS)
        idle = caller.p99(CALLS * 3)
        slow: dict[str, str] = {}
        for request in requests:
            for _ in range(TRIES):
                hammer.send(request)
                under_load = caller.p99(CALLS)
                heard = hammer.send(None)
                assert sum(heard.values()) >= CONNECTIONS, f"{request} was hardly asked for: {heard}"
                if under_load < WORST_RATIO * idle:
                    slow.pop(str(request), None)
                    break
                slow[str(request)] = f"{under_load / idle:.1f} times ({under_load * 1000:.1f} ms; {heard})"
                idle = max(idle, caller.p99(CALLS))
        assert slow == {}, f"idle p99 is {idle * 1000:.2f} ms"


async def prepared(settings: Settings) -> tuple[str, list[Sent]]:
    """A store with public data and a long list of totals; a key, and what strangers may ask for."""
    async with open_app(settings) as app:
        token = (await app.api_keys.create("caller", scopes=["*:*"])).token
        await app.users.add("ada", "a password of hers", role="reader")
        for number in range(400):
            app.audit.record(AuditEntry(time.time(), "key:1", "load", f"tool {number}", "ok", number))
        await app.audit.flush()
        return token, await anonymous_requests(app, await public_object(app, token))


async def public_object(app: App, token: str) -> dict[str, str]:
    """The parts of the URI of a public object."""
    front, headers = front_of(app), {"authorization": f"Bearer {token}", "content-type": "application/json"}

    async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = send(front, "POST", path, headers, json.dumps(body).encode())
        made = await answer.json()
        assert answer.status == 201, made
        return made

    schema = await post(
        "/api/schemas",
        {"title": "Note", "properties": {"text": {"type": "string"}}, "authorization": {"read": ["public"]}},
    )
    register = await post("/api/registers", {"title": "Board", "schemas": [schema["id"]]})
    place = {"register": str(register["id"]), "schema": str(schema["id"])}
    path = f"/api/objects/{place['register']}/{place['schema']}"
    made = [await post(path, {"text": f"note {number}"}) for number in range(20)]
    return {**place, "id": made[0]["id"]}


async def anonymous_requests(app: App, known: dict[str, str]) -> list[Sent]:
    """All requests that a stranger gets more than a demand for credentials for, one demand, and wrong credentials."""
    found: list[Sent] = []
    demands: dict[str, Sent] = {}
    front = front_of(app)
    for verb, path in candidates(app, known):
        answer = send(front, verb, path)
        await answer.body()
        if answer.status == 401:
            demands.setdefault(path.split("/")[1], (verb, path, ()))
        elif answer.status != 405:
            found.append((verb, path, ()))
    password = base64.b64encode(b"ada:not hers").decode()
    wrong: list[Sent] = [
        ("POST", "/mcp", (("authorization", f"Basic {password}"),)),
        ("POST", "/mcp", (("authorization", "Bearer nobody"),)),
        ("GET", "/healthz", (("host", "evil.example"),)),
        ("GET", "/healthz", (("origin", "https://evil.example"),)),
        ("GET", "/nowhere", ()),
    ]
    return [*found, *demands.values(), *wrong]


def candidates(app: App, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """A request for every route, and for every endpoint and mount, at the paths a mount may make public."""
    mounts = front_of(app).mounts
    for route in mounts.routes.routes:
        if isinstance(route, Route) and "GET" in (route.methods or ()) and "index.php" not in route.path:
            yield "GET", re.sub(r"\{(\w+)(?::\w+)?\}", lambda name: known.get(name[1], "1"), route.path)
    for path in mounts.endpoints:
        yield "POST", path
    for path, mount in mounts.apps.items():
        for below in ("", "/1", "/.well-known/agent-card.json"):
            for verb in ("GET", "POST"):
                if not below or mount.is_public(verb, path + below):
                    yield verb, path + below


class Caller:
    """A caller with credentials, on one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def close(self) -> None:
        self._connection.close()

    def p99(self, calls: int) -> float:
        """The 99th percentile of this many sequential calls."""
        return sorted(self._call() for _ in range(calls))[calls * 99 // 100 - 1]

    def _call(self) -> float:
        started = time.perf_counter()
        self._connection.request("POST", "/mcp", CALL, self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        elapsed = time.perf_counter() - started
        assert answer.status == 200, body
        assert not json.loads(body)["result"].get("isError"), body
        return elapsed


class Hammer:
    """The load, in its own process."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self._process = process
        self._host = f"localhost:{port}"

    def send(self, request: Sent | None) -> dict[str, int]:
        """Send this from now on, or nothing; return the answers so far, by status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        raw = b"" if request is None else self._raw(request)
        self._process.stdin.write(base64.b64encode(raw).decode() + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def _raw(self, request: Sent) -> bytes:
        verb, path, more = request
        headers = {"host": self._host, **dict(more)}
        if verb == "POST":
            headers |= {"content-type": "application/json", "content-length": "2"}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{verb} {path} HTTP/1.1\r\n{head}\r\n{'{}' if verb == 'POST' else ''}".encode()


@contextmanager
def serving(settings: Settings) -> Generator[int]:
    port = free_port()
    command = [pentad(), "serve", "--port", str(port), "--grpc-port", "0", "--data", str(settings.data)]
    log = settings.data / "server.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*command, *(part for name in settings.agent for part in ("--agent", name))],
            cwd=REPOSITORY,
            env={**environment(), "PENTAD_LIMITS_CALLS_PER_SECOND": "0"},  # the caller measures, it is not measured
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
        )
    try:
        wait_until(
            lambda: b"Pentad is ready" in log.read_bytes() or process.poll() is not None, "The server did not start."
        )
        assert process.poll() is None, log.read_text(encoding="utf-8")
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def hammering(port: int) -> Generator[Hammer]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.anonymous_load", str(port), str(CONNECTIONS)],
        cwd=REPOSITORY,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield Hammer(process, port)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(PATIENCE)
        process.stdout.close()
