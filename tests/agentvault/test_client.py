"""The client against agents on real sockets: what goes over the wire, what comes back, what is raised."""

import asyncio
import json
import re
from typing import Any

import pytest
from aiohttp import web
from pydantic import HttpUrl

from pentad.agentvault import (
    A2AConnectionError,
    A2AMessageError,
    A2ARemoteAgentError,
    A2ATimeoutError,
    AgentVaultClient,
    DataPart,
    FilePart,
    KeyManager,
    MCPContext,
    Message,
    TaskState,
    TextPart,
)
from pentad.kernel.errors import Forbidden
from pentad.kernel.secrets.documents import Masked
from pentad.net.fetch import HttpFetcher
from tests.agentvault.agent_server import Answer, Received, agent, events, refusal, result

KEYS = KeyManager(use_env_vars=False)
HELLO = Message(role="user", parts=[TextPart(content="hello")])
STATUS = '{"taskId":"t","state":"WORKING","timestamp":"2026-01-01T00:00:00Z","message":null}'
TASK = {"id": "t", "state": "COMPLETED", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:01.5Z"}


async def raised(answer: Answer) -> BaseException:
    """What asking for a task's status raises when the agent answers so."""
    async with agent(answer) as server, AgentVaultClient() as client:
        with pytest.raises(Exception, match=r".") as caught:
            await client.get_task_status(server.card(), "t", KEYS)
    return caught.value


async def followed(answer: Answer) -> list[Any]:
    async with agent(answer) as server, AgentVaultClient() as client:
        return [event async for event in client.receive_messages(server.card(), "t", KEYS)]


@pytest.mark.anyio
async def test_a_task_is_started_with_all_kinds_of_parts_and_exact_numbers():
    message = Message(
        role="user",
        parts=[
            TextPart(content="hi"),
            FilePart(url=HttpUrl("https://files.example/a.txt"), mediaType="text/plain", filename="a.txt"),
            DataPart(content={"big": 2**53 + 1, "none": None}),
        ],
        metadata={"client_request_id": "r1", "none": None},
    )
    context = {"items": {"doc": {"mediaType": "application/pdf", "ref": "s3://b/d.pdf"}, "empty": {}}}
    async with agent(result({"id": "task-1"})) as server, AgentVaultClient() as client:
        task = await client.initiate_task(
            server.card(), message, KEYS, mcp_context=context, webhook_url="https://hook.example/"
        )
        (sent,) = server.received
    assert task == "task-1"
    assert re.fullmatch(r"req-init-[0-9a-f-]{36}", sent.json["id"])
    assert sent.json == {
        "jsonrpc": "2.0",
        "id": sent.json["id"],
        "method": "tasks/send",
        "params": {
            "message": {
                "role": "user",
                "parts": [
                    {"type": "text", "content": "hi"},
                    {
                        "type": "file",
                        "url": "https://files.example/a.txt",
                        "mediaType": "text/plain",
                        "filename": "a.txt",
                    },
                    {
                        "type": "data",
                        "content": {"big": 9007199254740993, "none": None},
                        "mediaType": "application/json",
                    },
                ],
                "metadata": {"client_request_id": "r1", "none": None, "mcp_context": context},
            },
            "webhookUrl": "https://hook.example/",
        },
    }
    assert b"9007199254740993" in sent.body
    assert sent.headers["content-type"] == "application/json"


@pytest.mark.anyio
async def test_a_message_to_a_task_names_it_and_carries_context_too():
    async with agent(result({"id": "t"})) as server, AgentVaultClient() as client:
        context = MCPContext.model_validate({"items": {"a": {"mediaType": "text/plain", "content": "x"}}})
        assert await client.send_message(server.card(), "t", HELLO, KEYS, mcp_context=context) is True
        (sent,) = server.received
    assert sent.json["id"].startswith("req-send-")
    assert sent.json["params"]["id"] == "t"
    assert sent.json["params"]["message"]["metadata"] == {
        "mcp_context": {"items": {"a": {"mediaType": "text/plain", "content": "x"}}}
    }


@pytest.mark.anyio
async def test_what_is_asked_about_a_task_can_bring_context_too():
    context = {"items": {"a": {"mediaType": "text/plain", "content": "x"}}}
    async with agent(result(TASK)) as server, AgentVaultClient() as client:
        await client.get_task_status(server.card(), "t", KEYS, mcp_context=context)
        asked = server.received
    async with agent(result({"success": True})) as server, AgentVaultClient() as client:
        await client.terminate_task(server.card(), "t", KEYS, mcp_context=MCPContext.model_validate(context))
        asked += server.received
    async with agent(events()) as server, AgentVaultClient() as client:
        assert [one async for one in client.receive_messages(server.card(), "t", KEYS, mcp_context=context)] == []
        asked += server.received
        with pytest.raises(A2AMessageError, match="not valid"):
            await client.get_task_status(server.card(), "t", KEYS, mcp_context={"items": 5})
        assert len(server.received) == 1
    assert [one.json["method"] for one in asked] == ["tasks/get", "tasks/cancel", "tasks/sendSubscribe"]
    assert all(one.json["params"] == {"id": "t", "metadata": {"mcp_context": context}} for one in asked)


@pytest.mark.anyio
async def test_a_message_taken_for_another_task_is_not_called_sent():
    async with agent(result({"id": "other"})) as server, AgentVaultClient() as client:
        with pytest.raises(A2AMessageError, match="other"):
            await client.send_message(server.card(), "t", HELLO, KEYS)


@pytest.mark.anyio
async def test_the_status_of_a_task_is_the_whole_task():
    body = TASK | {
        "messages": [{"role": "user", "parts": [{"content": "x"}, {"content": {"n": 1}}], "metadata": None}],
        "artifacts": [{"id": "a", "type": "report", "content": None, "url": None}],
        "kind": "task",
    }
    async with agent(result(body)) as server, AgentVaultClient() as client:
        task = await client.get_task_status(server.card(), "t", KEYS)
        (sent,) = server.received
    assert (sent.json["method"], sent.json["params"]) == ("tasks/get", {"id": "t"})
    assert (task.state, task.updated_at.microsecond) == (TaskState.COMPLETED, 500_000)
    assert [type(part).__name__ for part in task.messages[0].parts] == ["TextPart", "DataPart"]
    assert task.artifacts[0].id == "a"


@pytest.mark.anyio
@pytest.mark.parametrize("success", [True, False])
async def test_terminate_tells_whether_the_task_was_cancelled(success: bool):
    async with agent(result({"success": success, "message": None})) as server, AgentVaultClient() as client:
        assert await client.terminate_task(server.card(), "t", KEYS) is success
        assert server.received[0].json["method"] == "tasks/cancel"


@pytest.mark.anyio
@pytest.mark.parametrize("task_id", ["", None, 5])
async def test_a_task_id_is_checked_before_anything_is_sent(task_id: Any):
    async with agent(result({})) as server, AgentVaultClient() as client:
        card = server.card()
        with pytest.raises(ValueError, match="task id"):
            await client.get_task_status(card, task_id, KEYS)
        with pytest.raises(ValueError, match="task id"):
            await client.terminate_task(card, task_id, KEYS)
        with pytest.raises(ValueError, match="task id"):
            await client.send_message(card, task_id, HELLO, KEYS)
        with pytest.raises(ValueError, match="task id"):
            await anext(client.receive_messages(card, task_id, KEYS))
        assert server.received == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (lambda _: web.Response(text="plain"), A2AMessageError, "not JSON"),
        (lambda _: [], A2AMessageError, "not an object"),
        (lambda _: {"jsonrpc": "2.0"}, A2AMessageError, "neither a result nor an error"),
        (lambda r: {"id": r.json["id"], "result": TASK}, A2AMessageError, "JSON-RPC 2.0"),
        (lambda _: {"jsonrpc": "2.0", "id": "another", "result": TASK}, A2AMessageError, "a different request"),
        (lambda _: {"jsonrpc": "2.0", "result": TASK}, A2AMessageError, "a different request"),
        (lambda _: {"jsonrpc": "2.0", "id": None, "error": "text"}, A2AMessageError, "not an object"),
        (result({"id": "t"}), A2AMessageError, "not a Task: /state: Field required"),
        (result({**TASK, "state": "REJECTED"}), A2AMessageError, "not a Task: /state"),
        (lambda _: web.Response(text="[" * 200), A2AMessageError, "exceeds the limits"),
    ],
)
async def test_an_answer_that_is_none_is_refused(answer: Answer, kind: type[Exception], says: str):
    error = await raised(answer)
    assert type(error) is kind
    assert says in str(error)


@pytest.mark.anyio
async def test_an_error_of_the_agent_keeps_its_code_and_its_data():
    error = await raised(refusal(-32001, "no such task", {"hint": "x"}))
    assert isinstance(error, A2ARemoteAgentError)
    assert (error.status_code, error.response_body) == (-32001, {"hint": "x"})
    assert str(error) == "no such task (status_code=-32001, response_body={'hint': 'x'})"


@pytest.mark.anyio
async def test_an_error_whose_request_could_not_be_read_is_taken_without_its_id():
    error = await raised(lambda _: {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse"}})
    assert isinstance(error, A2ARemoteAgentError)
    assert error.status_code == -32700


@pytest.mark.anyio
async def test_an_http_error_keeps_its_status_and_body():
    error = await raised(lambda _: web.Response(status=500, text="x" * 300))
    assert isinstance(error, A2ARemoteAgentError)
    assert (error.status_code, error.response_body) == (500, "x" * 300)
    assert str(error).endswith("...)")


@pytest.mark.anyio
async def test_a_message_that_is_too_large_for_the_agent_is_refused_with_what_to_do():
    error = await raised(lambda _: web.Response(status=413, text="no"))
    assert isinstance(error, A2ARemoteAgentError)
    assert error.status_code == 413
    assert "send a `ref`" in str(error)


@pytest.mark.anyio
async def test_an_agent_that_does_not_answer_in_time_is_given_up():
    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    from tests.net.test_fetch import answering

    async with answering(never) as port, agent(result({})) as server, AgentVaultClient(default_timeout=0.05) as client:
        card = server.card().model_copy(update={"url": f"http://localhost:{port}/"})
        with pytest.raises(A2ATimeoutError):
            await client.get_task_status(card, "t", KEYS)
        with pytest.raises(A2ATimeoutError):
            await anext(client.receive_messages(card, "t", KEYS))


@pytest.mark.anyio
async def test_an_agent_that_is_not_there_cannot_be_reached():
    async with agent(result({})) as server:
        card = server.card()
    async with AgentVaultClient() as client:
        with pytest.raises(A2AConnectionError) as caught:
            await client.get_task_status(card, "t", KEYS)
        assert not isinstance(caught.value, A2ATimeoutError)
        with pytest.raises(A2AConnectionError):
            await anext(client.receive_messages(card, "t", KEYS))


@pytest.mark.anyio
async def test_a_fetcher_of_the_callers_decides_where_calls_may_go():
    guarded = HttpFetcher()
    async with agent(result({})) as server:
        async with AgentVaultClient(http_client=guarded) as client:
            with pytest.raises(A2AConnectionError, match="Plain http") as caught:
                await client.get_task_status(server.card(), "t", KEYS)
        assert isinstance(caught.value.__cause__, Forbidden)
        assert server.received == []
        assert (await guarded.fetch(f"{server.url}", trusted=True)).status == 500
    await guarded.close()


@pytest.mark.anyio
async def test_events_come_as_models_in_their_order():
    at = "2026-01-01T00:00:00Z"
    said = {"role": "assistant", "parts": [{"type": "text", "content": "hi"}]}
    message = json.dumps({"taskId": "t", "message": said, "timestamp": at})
    made = {"id": "a", "type": "x", "content": {"n": 9007199254740993}}
    artifact = json.dumps({"taskId": "t", "artifact": made, "timestamp": at})
    found = await followed(
        events(
            ": comment\n\n",
            f"id: 1\nretry: 5\nevent: task_status\ndata: {STATUS}\n\n",
            f"event: task_message\ndata: {message}\n\n",
            f"data: {message}\n\n",
            f"event: task_artifact\r\ndata: {artifact}\r\n\r\n",
        )
    )
    kinds = ["TaskStatusUpdateEvent", "TaskMessageEvent", "TaskMessageEvent", "TaskArtifactUpdateEvent"]
    assert [type(event).__name__ for event in found] == kinds
    assert found[0].state is TaskState.WORKING
    assert found[3].artifact.content == {"n": 9007199254740993}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "frames",
    [
        'event: task_status\ndata: {"taskId":"t",\ndata: "state":"WORKING","timestamp":"2026-01-01T00:00:00Z"}\n\n',
        f"nonsense\nevent: task_status\ndata: {STATUS}\n\n",
        f"event: odd\ndata: {STATUS}\n\nevent: task_status\ndata: {STATUS}\n\n",
        f"event: task_status\ndata: {{not json\n\nevent: task_status\ndata: {STATUS}\n\n",
        f'event: task_status\ndata: {{"taskId":"t"}}\n\nevent: task_status\ndata: {STATUS}\n\n',
        f"event: task_status\ndata: {STATUS}\n",
        f"event: task_status\ndata: {STATUS}",
    ],
    ids=["two data lines", "malformed line", "unknown type", "not JSON", "not valid", "no blank line", "no line end"],
)
async def test_one_good_event_is_found_among_others(frames: str):
    (event,) = await followed(events(frames))
    assert (event.task_id, event.state) == ("t", TaskState.WORKING)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (events('event: error\ndata: {"code":-32001,"message":"no such task"}\n\n'), -32001),
        (events('event: error\ndata: {"error":"task_not_found","message":"no such task"}\n\n'), None),
        (events("event: error\ndata: no such task\n\n"), None),
        (refusal(-32001, "no such task"), -32001),
        (lambda _: web.Response(status=404, text="no such task"), 404),
    ],
    ids=["event", "event without code", "event that is no JSON", "answer that is no stream", "http"],
)
async def test_following_an_unknown_task_raises(answer: Answer, code: int | None):
    with pytest.raises(A2ARemoteAgentError, match="no such task") as caught:
        await followed(answer)
    assert caught.value.status_code == code


@pytest.mark.anyio
async def test_an_answer_that_is_no_stream_is_not_an_empty_one():
    with pytest.raises(A2AMessageError, match="not a stream"):
        await followed(result({"id": "t"}))


@pytest.mark.anyio
async def test_a_subscription_names_the_task_and_asks_for_a_stream():
    async with agent(events()) as server, AgentVaultClient() as client:
        assert [event async for event in client.receive_messages(server.card(), "t", KEYS)] == []
        (sent,) = server.received
    assert (sent.json["method"], sent.json["params"]) == ("tasks/sendSubscribe", {"id": "t"})
    assert sent.json["id"].startswith("req-sub-")
    assert sent.headers["accept"] == "text/event-stream"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"items": []}, "items: Input should be a valid dictionary"),
        ({"items": {"a": "x"}}, "/items/a: Input should be"),
        ({"items": {"a": {"mediaType": 5}}}, "/items/a/mediaType"),
        ({"items": {"a": {"content": b"\xff"}}}, "cannot be written as JSON"),
        ({"user_pref": "celsius"}, "/user_pref: not part of a context"),
        ({"items": {"a/b": {"media_type": "text/plain"}}}, "/items/a~1b/media_type: not part"),
        (["x"], "an MCP context is a dictionary"),
    ],
)
async def test_a_context_that_is_none_raises_and_nothing_is_sent(context: Any, says: str):
    async with agent(result({"id": "t"})) as server, AgentVaultClient() as client:
        with pytest.raises(A2AMessageError, match=re.escape(says)):
            await client.initiate_task(server.card(), HELLO, KEYS, mcp_context=context)
        assert server.received == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("context", "metadata"),
    [({"items": []}, {"k": 1}), ({"pref": 1}, {"k": 1, "mcp_context": {}}), ({}, {"k": 1}), (None, {"k": 1})],
)
async def test_who_asks_for_it_sends_the_task_without_what_is_not_valid(context: Any, metadata: Any):
    message = Message(role="user", parts=[TextPart(content="x")], metadata={"k": 1})
    async with agent(result({"id": "t"})) as server, AgentVaultClient(on_invalid="drop") as client:
        await client.initiate_task(server.card(), message, KEYS, mcp_context=context)
        assert server.received[0].json["params"]["message"]["metadata"] == metadata
    assert message.metadata == {"k": 1}


@pytest.mark.anyio
async def test_what_pentad_adds_to_a_context_goes_along():
    context = {"items": {"a": {"content": "x", "kind": "text"}}, "integrity": {"sha256": "00"}, "turn": {"n": 1}}
    async with agent(result({"id": "t"})) as server, AgentVaultClient() as client:
        await client.initiate_task(server.card(), HELLO, KEYS, mcp_context=context)
        assert server.received[0].json["params"]["message"]["metadata"]["mcp_context"] == context


@pytest.mark.anyio
async def test_a_message_that_is_too_deep_or_no_json_is_not_sent():
    deep: Any = "x"
    for _ in range(150):
        deep = {"d": deep}
    async with agent(result({"id": "t"})) as server, AgentVaultClient() as client:
        for metadata in ({"deep": deep}, {"object": object()}):
            message = Message(role="user", parts=[TextPart(content="x")], metadata=metadata)
            with pytest.raises(A2AMessageError):
                await client.initiate_task(server.card(), message, KEYS)
        assert server.received == []


@pytest.mark.anyio
async def test_a_post_that_is_redirected_to_the_slash_variant_stays_a_post():
    def moved(received: Received) -> Any:
        if received.path.endswith("/"):
            return result({"id": "t"})(received)
        return web.Response(status=307, headers={"Location": f"{received.path}/"})

    async with agent(moved) as server, AgentVaultClient() as client:
        assert await client.initiate_task(server.card(), HELLO, KEYS) == "t"
        assert [json.loads(one.body)["method"] for one in server.received] == ["tasks/send"] * 2


CANARIES = {
    "github": "ghp_" + "Ab3dE6gH9j" * 3 + "Kl2mN4",
    "aws": "AKIA" + "QWERTYUIOP234567",
    "password": "corr3ct-horse-canary",
    "card": "4111 1111 1111 1111",
}
SECRETS: Any = {
    "items": {
        "log": {"mediaType": "text/plain", "content": f"token {CANARIES['github']} and {CANARIES['aws']}, rest"},
        "form": {"content": {"deep": [{"password": CANARIES["password"]}, CANARIES["card"]]}, "metadata": {"n": 42}},
    },
    "integrity": {"alg": "SHA-256"},
}


@pytest.mark.anyio
async def test_secrets_in_a_context_do_not_leave_and_the_report_says_where_they_were(caplog: pytest.LogCaptureFixture):
    async with agent(result({"id": "t"})) as server, AgentVaultClient() as client:
        await client.initiate_task(server.card(), HELLO, KEYS, mcp_context=SECRETS)
        reports = [client.last_report]
        own = HELLO.model_copy(update={"metadata": {"mcp_context": SECRETS}})
        await client.send_message(server.card(), "t", own, KEYS)
        reports.append(client.last_report)
        await client.send_message(server.card(), "t", HELLO, KEYS, mcp_context={"items": {"a": {"content": 42}}})
        assert client.last_report == []
    for received, report in zip(server.received[:2], reports, strict=True):
        for canary in CANARIES.values():
            assert canary.encode() not in received.body
            assert canary not in str(report)
            assert canary not in caplog.text
        sent = received.json["params"]["message"]["metadata"]["mcp_context"]
        assert sent["items"]["form"]["metadata"] == {"n": 42}
        assert sent["items"]["log"]["content"].endswith(", rest")
        assert "integrity" not in sent
        assert {one.path for one in report} == {
            "/items/log/content",
            "/items/form/content/deep/0/password",
            "/items/form/content/deep/1",
        }
        assert all(isinstance(one, Masked) and one.action == "mask" for one in report)
    assert "/items/form/content/deep/0/password (key-name)" in caplog.text
    assert SECRETS["items"]["form"]["content"]["deep"][1] == CANARIES["card"]


@pytest.mark.anyio
async def test_who_means_it_sends_a_context_as_it_is():
    async with agent(result({"id": "t"})) as server, AgentVaultClient(redact=False) as client:
        await client.initiate_task(server.card(), HELLO, KEYS, mcp_context=SECRETS)
        assert server.received[0].json["params"]["message"]["metadata"]["mcp_context"] == SECRETS
        assert client.last_report == []
