"""The same message at two real servers on one store, at the same time: one task."""

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
from tests.waiting import PATIENCE

ROUNDS = 10


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    with ExitStack() as stack:
        database: list[str] = []
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            database = ["--database", stack.enter_context(server.empty_database())]
        yield ["--data", str(tmp_path / "data"), *database]


def call(served: Served, path: str, body: Any = None) -> Any:
    connection = HTTPConnection("localhost", served.port, timeout=PATIENCE)
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        assert answer.status == 200, content
        return content
    finally:
        connection.close()


def send(served: Served, message_id: str, text: str) -> str:
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
    return call(served, "/agents/echo/message:send", {"message": message})["task"]["id"]


@pytest.mark.interop
@pytest.mark.requirement("agents:repeat:first-result")
@pytest.mark.parametrize("text", ["hello", "stream one two three"])
def test_the_same_message_at_two_servers_is_one_task(store: list[str], text: str) -> None:
    with serving("agents", store) as one, serving("agents", store) as other, ThreadPoolExecutor(4) as threads:
        ids: list[str] = []
        for number in range(ROUNDS):
            sends = [threads.submit(send, served, f"m-{number}", text) for served in (one, other) * 2]
            found = {sent.result() for sent in sends}
            assert len(found) == 1
            ids += found
        listed = call(other, "/agents/echo/tasks?pageSize=100")
    assert sorted(task["id"] for task in listed["tasks"]) == sorted(ids)
    assert len(set(ids)) == ROUNDS
