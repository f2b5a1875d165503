"""Approvals on two real servers: one decision counts, and it is enough that one of them lives."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import Served, serving
from tests.stores import PostgresServer
from tests.waiting import PATIENCE, wait_until

AGENT = ["--agent", "tests.behaviour.agents.payer:payer"]
KEY = "urn:pentad:a2a:approval:v1"


def call(served: Served, path: str, body: Any = None) -> tuple[int, Any]:
    connection = HTTPConnection("localhost", served.port, timeout=PATIENCE)
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def ask(served: Served, what: str) -> tuple[str, str]:
    """A task that waits, and its approval."""
    message = {"messageId": what, "role": "ROLE_USER", "parts": [{"text": what}]}
    task = call(served, "/agents/payer/message:send", {"message": message})[1]["task"]
    return task["id"], task["status"]["message"]["metadata"][KEY]["id"]


def decide(served: Served, approval: str, decision: str) -> int:
    return call(served, f"/api/agents/approvals/{approval}", {"decision": decision, "reason": ""})[0]


def outcome(served: Served, task: str) -> str:
    """What the agent said in the end."""
    found: list[Any] = []

    def is_over() -> bool:
        found[:] = [call(served, f"/agents/payer/tasks/{task}")[1]["status"]]
        return found[0]["state"] == "TASK_STATE_COMPLETED"

    wait_until(is_over, f"not over: {found}")
    return found[0]["message"]["parts"][0]["text"].split()[0]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    with ExitStack() as stack:
        database: list[str] = []
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            database = ["--database", stack.enter_context(server.empty_database())]
        yield ["--data", str(tmp_path / "data"), *database, *AGENT]


@pytest.mark.interop
@pytest.mark.requirement("agents:approvals:once")
@pytest.mark.requirement("agents:approvals:restart")
def test_two_servers_decide_once_and_the_one_that_lives_goes_on(store: list[str]) -> None:
    with serving("agents", store) as one, serving("agents", store) as other, ThreadPoolExecutor(2) as threads:
        for number in range(5):
            task, approval = ask(one, f"race {number}")
            tries = [
                threads.submit(decide, one, approval, "approve"),
                threads.submit(decide, other, approval, "refuse"),
            ]
            answers = [done.result() for done in tries]
            assert sorted(answers) == [200, 409]
            assert outcome(other, task) == ("approved" if answers[0] == 200 else "refused")
        task, approval = ask(one, "the last one")
        one.process.kill()
        one.process.wait(PATIENCE)
        assert decide(other, approval, "approve") == 200
        assert outcome(other, task) == "approved"
