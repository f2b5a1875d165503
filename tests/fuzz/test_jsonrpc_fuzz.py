"""Spoiled JSON-RPC against the whole application in memory: always a well-formed answer, no traceback, no 5xx.

A few cases in `make test`, always the same ones; twenty thousand in `make interop`, new ones each time except in CI.
"""

import asyncio
import json
import logging
from collections.abc import Generator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.kernel.default_limits import Limits
from pentad.settings.model import Settings
from tests.conformance.server import CONFORMANCE_ROOM
from tests.fuzz.asgi import Asgi, exchange
from tests.fuzz.mutations import Attack, legacy_attacks, modern_attacks
from tests.fuzz.verdict import complaint, complaint_about_message
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.selection import IS_LONG, SAME

CASES = 20_000
fuzzing = settings(
    max_examples=CASES // 3,
    deadline=None,
    derandomize=SAME or not IS_LONG,
    database=None,
    print_blob=IS_LONG,
    suppress_health_check=ALL_HEALTH_CHECKS,
)
pytestmark = [pytest.mark.timeout(1800), pytest.mark.interop] if IS_LONG else []


class Incidents(logging.Handler):
    """Whatever the server would have written to its log as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(self.format(record))


@dataclass(frozen=True)
class Target:
    """The open application, the loop it lives on, and its log."""

    runner: asyncio.Runner
    app: App
    asgi: Asgi
    incidents: Incidents

    def strike(self, attack: Attack) -> None:
        self.incidents.seen.clear()
        reply = self.runner.run(exchange(self.asgi, attack))
        assert complaint(reply) is None, (complaint(reply), reply)
        assert self.incidents.seen == []


async def _opened(stack: AsyncExitStack, chosen: Settings) -> tuple[App, Asgi]:
    app = await stack.enter_async_context(open_app(chosen))
    return app, http_application(app)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Generator[Target]:
    data = tmp_path_factory.mktemp("data")
    chosen = Settings(rooms=(CONFORMANCE_ROOM,), data=data, auth="none", limits=Limits(calls_per_second=0))
    incidents = Incidents()
    logging.getLogger().addHandler(incidents)
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        app, asgi = runner.run(_opened(stack, chosen))
        yield Target(runner, app, asgi, incidents)
        runner.run(stack.aclose())
    logging.getLogger().removeHandler(incidents)


@pytest.fixture(scope="module")
def sessions(target: Target) -> tuple[str, ...]:
    """Live sessions of two revisions."""
    return tuple(_session(target, version) for version in ("2025-11-25", "2025-03-26"))


def _session(target: Target, version: str) -> str:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"accept", b"*/*")]
    return target.runner.run(exchange(target.asgi, Attack("POST", headers, body))).headers["mcp-session-id"]


@fuzzing
@given(attack=modern_attacks())
@pytest.mark.requirement("mcp:jsonrpc:fuzz")
def test_spoiled_requests_of_the_stateless_era_are_answered_properly(target: Target, attack: Attack) -> None:
    target.strike(attack)


@fuzzing
@given(data=st.data())
@pytest.mark.requirement("mcp:jsonrpc:fuzz")
def test_spoiled_requests_of_the_handshake_era_are_answered_properly(
    target: Target, sessions: tuple[str, ...], data: st.DataObject
) -> None:
    target.strike(data.draw(legacy_attacks(sessions)))


@settings(fuzzing, max_examples=CASES // 3 // 2)  # each has two lines
@given(first=modern_attacks(), second=legacy_attacks(()))
@pytest.mark.requirement("mcp:jsonrpc:fuzz")
def test_spoiled_lines_of_a_connection_are_answered_properly(target: Target, first: Attack, second: Attack) -> None:
    written: list[bytes] = []
    target.incidents.seen.clear()

    async def converse() -> None:
        async def write(message: bytes) -> None:
            written.append(message)

        connection = target.app.connection(write, transport="memory")
        for attack in (first, second):
            await connection.receive(attack.body.replace(b"\n", b" "))
        await connection.close(grace_seconds=5)

    target.runner.run(asyncio.wait_for(converse(), 60))
    for message in written:
        said: Any = json.loads(message)
        assert complaint_about_message(said, refused=False) is None, message
    assert target.incidents.seen == []
