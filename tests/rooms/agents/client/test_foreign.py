"""Peers that are not like us: streams that break, no numbers, odd answers, errors of every kind."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from pentad.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Overloaded,
    PentadError,
    Unavailable,
)
from pentad.net.fetch import HttpFetcher
from pentad.rooms.agents.client import protocol_client, remote_agent
from pentad.rooms.agents.client.remote_agent import RemoteAgent
from pentad.rooms.agents.codecs.errors import ERROR_INFO
from pentad.rooms.agents.delegation import TaskRequest, send_and_wait
from pentad.rooms.agents.models import Dialect, Event, Message, Part, PushConfig, StatusEvent, Task
from tests.net.test_fetch import answering
from tests.rooms.agents.client.serving import said

TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
DONE = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}
Answer = Callable[[str, Any, web.Request], Any]


class Peer:
    """An agent the test speaks for: `asked` are the methods it was asked for."""

    def __init__(self, agent: RemoteAgent) -> None:
        self.agent = agent
        self.asked: list[str] = []


@asynccontextmanager
async def peer(answer: Answer, dialect: Dialect = "1.0", binding: str = "JSONRPC") -> AsyncGenerator[Peer]:
    """JSON-RPC: `answer(method, params, request)` is a result, an error (an exception's arguments) or a response."""
    found: list[Peer] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else {}
        method = body.get("method", f"{request.method} {request.path}")
        found[0].asked.append(method)
        said = answer(method, body.get("params", body), request)
        if asyncio.iscoroutine(said):
            said = await said
        if isinstance(said, web.StreamResponse):
            return said
        return web.json_response({"jsonrpc": "2.0", "id": body.get("id"), **said})

    fetcher = HttpFetcher()
    async with answering(handler) as port:
        url = f"http://127.0.0.1:{port}/a2a"
        card: dict[str, Any] = {"name": "Peer", "url": url, "capabilities": {"a2aVersion": "1.0"}}
        card["supportedInterfaces"] = [{"url": url, "protocolBinding": binding, "protocolVersion": dialect}]
        found.append(Peer(RemoteAgent(card, fetcher, trusted=True, dialect=dialect, seconds=2.0, idle=0.3)))
        yield found[0]
    await fetcher.close()


async def streamed(request: web.Request, *frames: str, breaks: bool = False) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for frame in frames:
        await response.write(frame.encode())
    if breaks and request.transport is not None:
        request.transport.abort()
    return response


def frame(result: Any, number: int | None = None) -> str:
    head = "" if number is None else f"id: {number}\n"
    return f"{head}data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': result})}\n\n"


def status(state: str) -> Any:
    return {"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote_agent, "_FIRST_PAUSE", 0.001)


async def raised(peer: Peer) -> PentadError:
    with pytest.raises(PentadError) as caught:
        await peer.agent.get("t")
    return caught.value


@pytest.mark.anyio
async def test_a_broken_stream_goes_on_by_its_last_number():
    resumed: list[str | None] = []

    def answer(method: str, params: Any, request: web.Request) -> Any:
        if method == "SendStreamingMessage":
            return streamed(request, frame({"task": TASK}, 1), frame(status("WORKING"), 2), breaks=True)
        resumed.append(request.headers.get("Last-Event-ID"))
        if len(resumed) == 1:
            return streamed(request, frame(status("WORKING"), 3), ": beat\n\n")
        return streamed(request, frame(status("COMPLETED"), 4))

    async with peer(answer) as found:
        items = [item async for item in found.agent.stream(said("x"))]
    assert [item.seq for item in items if isinstance(item, Event)] == [2, 3, 4]
    assert resumed == ["2", "3"]
    assert found.asked == ["SendStreamingMessage", "SubscribeToTask", "SubscribeToTask"]


@pytest.mark.anyio
async def test_a_broken_stream_without_numbers_asks_how_the_task_stands():
    gets = iter([TASK, DONE])

    def answer(method: str, params: Any, request: web.Request) -> Any:
        if method == "GetTask":
            return {"result": next(gets)}
        assert "Last-Event-ID" not in request.headers
        return streamed(request, frame({"task": TASK}), breaks=True)

    async with peer(answer) as found:
        items = [item async for item in found.agent.stream(said("x"))]
    assert [item.state for item in items if isinstance(item, Task)] == ["working", "working", "completed"]
    assert found.asked == ["SendStreamingMessage", "GetTask", "SubscribeToTask", "GetTask"]


@pytest.mark.anyio
async def test_a_silent_stream_is_looked_after():
    async def silence(request: web.Request) -> web.StreamResponse:
        response = await streamed(request, frame({"task": TASK}))
        await asyncio.Event().wait()
        return response

    def answer(method: str, params: Any, request: web.Request) -> Any:
        return {"result": DONE} if method == "GetTask" else silence(request)

    async with peer(answer) as found:
        items = [item async for item in found.agent.subscribe("t")]
    assert isinstance(items[-1], Task)
    assert items[-1].state == "completed"


@pytest.mark.anyio
async def test_a_peer_that_always_breaks_off_is_given_up():
    def answer(method: str, params: Any, request: web.Request) -> Any:
        return {"result": TASK} if method == "GetTask" else streamed(request)

    async with peer(answer) as found:
        with pytest.raises(Unavailable, match="before the task is over"):
            _ = [item async for item in found.agent.subscribe("t")]
    assert found.asked.count("SubscribeToTask") == remote_agent.MAX_ATTEMPTS + 1


@pytest.mark.anyio
async def test_a_finished_task_that_cannot_be_subscribed_to_is_shown_instead():
    def answer(method: str, params: Any, request: web.Request) -> Any:
        if method == "GetTask":
            return {"result": DONE}
        return {"error": {"code": -32004, "message": "over"}}

    async with peer(answer) as found:
        (item,) = [item async for item in found.agent.subscribe("t")]
    assert isinstance(item, Task)
    assert item.state == "completed"


@pytest.mark.anyio
async def test_a_peer_without_streams_says_so():
    def answer(method: str, params: Any, request: web.Request) -> Any:
        return {"result": TASK} if method == "GetTask" else {"error": {"code": -32004, "message": "no streams"}}

    async with peer(answer) as found:
        with pytest.raises(Conflict, match="no streams"):
            _ = [item async for item in found.agent.subscribe("t")]
        with pytest.raises(Conflict, match="no streams"):
            _ = [item async for item in found.agent.stream(said("x"))]


@pytest.mark.anyio
async def test_a_vault_peer_without_numbers_is_followed_and_looked_after():
    def event(name: str, **members: Any) -> str:
        body = {"taskId": "t", "timestamp": "2026-01-01T00:00:00Z", **members}
        return f"event: {name}\ndata: {json.dumps(body)}\n\n"

    message = {"role": "assistant", "parts": [{"type": "text", "content": "hi"}]}
    frames = (
        event("task_status", state="WORKING"),
        event("odd", state="WORKING"),
        event("task_message", message=message),
        event("task_artifact", artifact={"id": "a", "type": "file", "url": "https://f.example/"}),
    )
    task = {"id": "t", "state": "COMPLETED", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:02Z"}

    def answer(method: str, params: Any, request: web.Request) -> Any:
        if method == "tasks/send":
            return {"result": {"id": "t"}}
        return {"result": task} if method == "tasks/get" else streamed(request, *frames)

    async with peer(answer, "agentvault") as found:
        items = [item async for item in found.agent.stream(said("x"))]
    assert [type(item.body).__name__ for item in items if isinstance(item, Event)] == [
        "StatusEvent",
        "MessageEvent",
        "ArtifactEvent",
    ]
    assert isinstance(items[-1], Task)
    assert items[-1].updated_at - items[-1].created_at == 2.0


@pytest.mark.anyio
async def test_a_vault_peer_that_tells_late_comers_nothing_is_asked_for_the_task(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(protocol_client, "FIRST_EVENT_SECONDS", 0.02)
    task = {"id": "t", "state": "COMPLETED", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:02Z"}

    async def silence(request: web.Request) -> web.StreamResponse:
        response = await streamed(request)
        await asyncio.Event().wait()
        return response

    def answer(method: str, params: Any, request: web.Request) -> Any:
        return {"result": task} if method == "tasks/get" else silence(request)

    async with peer(answer, "agentvault") as found:
        (item,) = [item async for item in found.agent.subscribe("t")]
    assert isinstance(item, Task)
    assert item.state == "completed"
    assert found.asked == ["tasks/sendSubscribe", "tasks/get"]


@pytest.mark.anyio
async def test_what_one_numbered_entry_says_in_two_events_is_told_once():
    def event(name: str, number: int | None, **members: Any) -> str:
        head = "" if number is None else f"id: {number}\n"
        return f"{head}event: {name}\ndata: {json.dumps({'taskId': 't', **members})}\n\n"

    message = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
    asked: list[str | None] = []

    def answer(method: str, params: Any, request: web.Request) -> Any:
        asked.append(request.headers.get("Last-Event-ID"))
        said = event("task_message", None, message=message)
        if len(asked) == 1:
            return streamed(request, event("task_status", 1, state="WORKING"), said, breaks=True)
        return streamed(request, said, event("task_status", 2, state="COMPLETED", message="Done."))

    async with peer(answer, "agentvault") as found:
        items = [item async for item in found.agent.subscribe("t")]
    assert asked == [None, "1"]
    assert [item.seq for item in items if isinstance(item, Event)] == [1, 2]
    last = items[-1]
    assert isinstance(last, Event)
    assert isinstance(last.body, StatusEvent)
    assert last.body.message is not None
    assert last.body.message.text == "Done."


@pytest.mark.anyio
async def test_bytes_of_a_file_are_not_for_vault_peers():
    async with peer(lambda *_: {}, "agentvault") as found:
        with pytest.raises(InvalidInput, match="bytes"):
            await found.agent.send(Message(id="m", role="user", parts=(Part(raw="aGk="),)))
        assert found.asked == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("dialect", "code", "kind", "reason"),
    [
        ("1.0", -32001, NotFound, "task-not-found"),
        ("1.0", -32002, Conflict, "not-cancelable"),
        ("1.0", -32005, InvalidInput, "content-type"),
        ("1.0", -32009, Conflict, "version"),
        ("1.0", -32602, InvalidInput, "invalid-params"),
        ("1.0", -32603, Unavailable, "internal"),
        ("1.0", -1, Unavailable, "agent-error"),
        ("0.3", -32003, Conflict, "push-unsupported"),
        ("agentvault", -32000, Unavailable, "agent-error"),
        ("agentvault", -32002, Forbidden, "unauthenticated"),
        ("agentvault", -32003, Forbidden, "forbidden"),
        ("agentvault", -32004, Conflict, "not-cancelable"),
    ],
)
async def test_a_peers_code_means_what_its_dialect_says(dialect: Dialect, code: int, kind: type, reason: str):
    async with peer(lambda *_: {"error": {"code": code, "message": "no" * 1000}}, dialect) as found:
        error = await raised(found)
    assert type(error) is kind
    assert (error.details["peer_code"], error.details["reason"], error.details["peer"]) == (code, reason, "Peer")
    assert len(error.message) < 600


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, "who", Forbidden),
        (403, "", Forbidden),
        (404, {"error": {"message": "gone"}}, NotFound),
        (400, {"error": {"details": [{"@type": ERROR_INFO, "reason": "TASK_NOT_FOUND"}]}}, NotFound),
        (400, {"error": {"details": [{"@type": ERROR_INFO, "reason": "UNSUPPORTED_OPERATION"}]}}, Conflict),
        (413, "", LimitExceeded),
        (429, "", Overloaded),
        (503, "", Overloaded),
        (500, "x" * 5000, Unavailable),
        (302, "", Unavailable),
    ],
)
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_an_http_error_means_what_its_status_or_reason_says(status: int, body: Any, kind: type, binding: str):
    def answer(method: str, params: Any, request: web.Request) -> Any:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, headers={"Retry-After": "7"})

    async with peer(answer, "1.0", binding) as found:
        error = await raised(found)
        assert type(error) is kind
        with pytest.raises(kind):
            _ = [item async for item in found.agent.stream(said("x"))]
    if isinstance(error, Overloaded):
        assert error.retry_after == 7.0


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answer",
    [
        {"result": {}},
        {"result": {"id": "t", "status": {"state": "TASK_STATE_ODD"}}},
        {"result": {**TASK, "history": [{"role": "odd", "messageId": "m", "parts": [{"text": "x"}]}]}},
        {"result": {**TASK, "artifacts": [{"artifactId": "a", "parts": [{"text": "x", "url": "y"}]}]}},
        {"result": {"deep": json.loads("[" * 130 + "]" * 130)}},
        {"jsonrpc": "1.0", "result": TASK},
        {"id": "another", "result": TASK},
        {},
    ],
)
async def test_an_answer_that_cannot_be_read_is_refused(answer: Any):
    async with peer(lambda *_: answer) as found:
        error = await raised(found)
    assert type(error) is Unavailable
    assert error.details["reason"] == "invalid-agent-response"


@pytest.mark.anyio
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_an_error_within_a_stream_is_raised(binding: str):
    error = {"code": -32603, "message": "broken"}
    rpc = f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'error': error})}\n\n"
    rest = f"event: error\ndata: {json.dumps({'error': error})}\n\n"

    def answer(method: str, params: Any, request: web.Request) -> Any:
        return streamed(request, rpc if binding == "JSONRPC" else rest)

    async with peer(answer, "1.0", binding) as found:
        with pytest.raises(Unavailable, match="broken"):
            _ = [item async for item in found.agent.stream(said("x"))]


@pytest.mark.anyio
async def test_what_is_asked_for_is_what_is_sent():
    seen: list[Any] = []

    def answer(method: str, params: Any, request: web.Request) -> Any:
        seen.append((params, request.headers.get("A2A-Version")))
        return {"result": {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}}}

    async with peer(answer, "0.3") as found:
        push = PushConfig(url="https://h.example/", dialect="0.3", token="s")
        await found.agent.send(said("x"), wait=False, history_length=2, push=push, metadata={"m": 1})
    (params, version) = seen[0]
    assert version == "0.3"
    assert params["configuration"] == {
        "blocking": False,
        "historyLength": 2,
        "pushNotificationConfig": {"url": "https://h.example/", "token": "s"},
    }
    assert params["metadata"] == {"m": 1}


@pytest.mark.anyio
async def test_a_tenant_is_in_the_params_or_in_the_path():
    seen: list[Any] = []

    def answer(method: str, params: Any, request: web.Request) -> Any:
        seen.append((request.path, params.get("tenant")))
        return {"result": DONE} if request.method == "POST" else web.json_response(DONE)

    async with peer(answer) as found:
        for binding in ("JSONRPC", "HTTP+JSON"):
            card = found.agent.card
            place = {"url": card["url"], "protocolBinding": binding, "protocolVersion": "1.0", "tenant": "a b"}
            agent = RemoteAgent(
                card | {"supportedInterfaces": [place]},
                found.agent._transport._channel.fetcher,
                trusted=True,
                dialect="1.0",
            )
            assert (await agent.get("t/1")).state == "completed"
    assert seen == [("/a2a", "a b"), ("/a2a/a b/tasks/t/1", None)]


async def unheard(_event: Event) -> None:
    """Nobody listens."""


@pytest.mark.anyio
@pytest.mark.requirement("agents:elsewhere:patience")
async def test_an_agent_that_does_not_stream_is_asked_until_the_task_rests_or_the_time_is_up():
    left = [TASK, TASK, DONE]

    def answer(method: str, params: Any, request: web.Request) -> Any:
        if method == "SendMessage":
            assert params["configuration"]["returnImmediately"] is True, "no request takes as long as the task"
            return {"result": {"task": TASK}}
        return {"result": left.pop(0) if left else TASK}

    request = TaskRequest("peer", (Part(text="x"),))
    async with peer(answer) as slow:
        done = await send_and_wait(slow.agent, request, 30.0, unheard)
        assert isinstance(done, Task)
        assert (done.state, slow.asked) == ("completed", ["SendMessage", *["GetTask"] * 3])
        waiting = await send_and_wait(slow.agent, request, 0.2, unheard)
        assert isinstance(waiting, Task)
        assert waiting.state == "working"


@pytest.mark.anyio
async def test_who_stops_waiting_for_an_agent_that_does_not_stream_cancels_the_task():
    asked = asyncio.Event()

    def answer(method: str, params: Any, request: web.Request) -> Any:
        if method == "GetTask":
            asked.set()
        return {"result": {"task": TASK} if method == "SendMessage" else TASK}

    async with peer(answer) as slow:
        waiting = asyncio.create_task(send_and_wait(slow.agent, TaskRequest("peer", (Part(text="x"),)), None, unheard))
        async with asyncio.timeout(60):
            await asked.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert slow.asked[-1] == "CancelTask"


@pytest.mark.anyio
async def test_a_stream_that_does_not_begin_in_time_is_a_deadline_and_no_crash():
    release = asyncio.Event()

    async def answer_late(request: web.Request) -> web.StreamResponse:
        await release.wait()
        return await streamed(request, frame({"task": TASK}, 1))

    async with peer(lambda method, params, request: answer_late(request)) as silent:
        silent.agent.card["capabilities"] = {"streaming": True}
        with pytest.raises(DeadlineExceeded, match="takes the task"):
            await send_and_wait(silent.agent, TaskRequest("peer", (Part(text="x"),)), 0.1, unheard)
        release.set()
