"""The agent for the conformance suites does what each of their messages requires."""

import asyncio
from typing import Any

import pytest

from pentad.app import open_app
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.agents.test_jsonrpc import v10

pytestmark = pytest.mark.anyio
FILE = {"filename": "output.txt", "mediaType": "text/plain"}


@pytest.mark.parametrize(
    ("beginning", "state", "said", "parts"),
    [
        ("tck-complete-task", "COMPLETED", "Hello from TCK", None),
        ("anything", "COMPLETED", "Hello from TCK", None),
        ("tck-artifact-text", "COMPLETED", None, [{"text": "Generated text content"}]),
        ("tck-artifact-file", "COMPLETED", None, [{"raw": "R2VuZXJhdGVkIGZpbGUgY29udGVudA==", **FILE}]),
        ("tck-artifact-file-url", "COMPLETED", None, [{"url": "https://example.com/output.txt", **FILE}]),
        ("tck-artifact-data", "COMPLETED", None, [{"data": {"key": "value", "count": 42}}]),
        ("tck-input-required", "INPUT_REQUIRED", "What else?", None),
        ("tck-reject-task", "REJECTED", "rejected", None),
        ("tck-stream-001", "COMPLETED", None, [{"text": "Stream hello from TCK"}]),
        ("tck-stream-002", "COMPLETED", None, None),
        ("tck-stream-003", "COMPLETED", None, [{"text": "Stream task lifecycle"}]),
        ("tck-stream-ordering-001", "COMPLETED", None, [{"text": "Ordered output"}]),
        ("tck-stream-artifact-text", "COMPLETED", None, [{"text": "Streamed text content"}]),
        ("tck-stream-artifact-file", "COMPLETED", None, [{"raw": "R2VuZXJhdGVkIGZpbGUgY29udGVudA==", **FILE}]),
        ("tck-stream-artifact-chunked", "COMPLETED", None, [{"text": "chunk-1 "}, {"text": "chunk-2"}]),
    ],
)
async def test_a_message_is_answered_by_the_beginning_of_its_id(
    wire: Wire, beginning: str, state: str, said: str | None, parts: list[Any] | None
) -> None:
    task = (await wire.call("SendMessage", v10(f"{beginning}-7c")))["task"]
    status = task["status"]
    assert status["state"] == f"TASK_STATE_{state}"
    assert (status["message"]["parts"][0]["text"] if "message" in status else None) == said
    made = task["artifacts"][0]["parts"] if "artifacts" in task else None
    assert made == parts


async def test_the_suites_hear_of_tasks_on_this_machine(tmp_path_factory: pytest.TempPathFactory) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.put_nowait(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    data = tmp_path_factory.mktemp("suites")
    settings = Settings(data=data, rooms=("agents",), agent=("tests.tck.agent:Agent",), auth="none")
    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server, open_app(settings) as app:
        port = server.sockets[0].getsockname()[1]
        config = {"url": f"http://127.0.0.1:{port}/hook", "authentication": {"scheme": "Bearer", "credentials": "t"}}
        sent = {**v10("tck-complete-task"), "configuration": {"taskPushNotificationConfig": config}}
        assert await Wire(app).call("SendMessage", sent, "/a2a", a2a_version="1.0")
        head = await asyncio.wait_for(heard.get(), 60)
    assert head.startswith(b"POST /hook ")
    assert b"authorization: Bearer t" in head
