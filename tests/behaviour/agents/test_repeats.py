"""A message sent again, in every dialect: by its id or by Idempotency-Key."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.behaviour.agents.conftest import Wire, frames_of
from tests.behaviour.agents.test_jsonrpc import any_id, av, v03, v10

pytestmark = pytest.mark.anyio
ECHO = "/agents/echo"
Send = Callable[[Wire, str, str, dict[str, Any]], Awaitable[Any]]


async def in_10(wire: Wire, message_id: str, text: str, headers: dict[str, str]) -> Any:
    answer = await wire.ask("SendMessage", v10(message_id, text), ECHO, **headers).json()
    return answer["result"]["task"]["id"] if "result" in answer else answer["error"]


async def in_03(wire: Wire, message_id: str, text: str, headers: dict[str, str]) -> Any:
    answer = await wire.ask("message/send", v03(message_id, text), ECHO, **headers).json()
    return answer["result"]["id"] if "result" in answer else answer["error"]


async def over_http(wire: Wire, message_id: str, text: str, headers: dict[str, str]) -> Any:
    answer = await wire.rest("POST", f"{ECHO}/message:send", v10(message_id, text), **headers).json()
    return answer["task"]["id"] if "task" in answer else answer["error"]


async def in_agentvault(wire: Wire, _message_id: str, text: str, headers: dict[str, str]) -> Any:
    answer = await wire.ask("tasks/send", av(text), ECHO, **headers).json()
    return answer["result"]["id"] if "result" in answer else answer["error"]


async def streamed_in_10(wire: Wire, message_id: str, text: str, headers: dict[str, str]) -> Any:
    return _streamed(await wire.ask("SendStreamingMessage", v10(message_id, text), ECHO, **headers).body())


async def streamed_in_03(wire: Wire, message_id: str, text: str, headers: dict[str, str]) -> Any:
    return _streamed(await wire.ask("message/stream", v03(message_id, text), ECHO, **headers).body())


async def streamed_over_http(wire: Wire, message_id: str, text: str, headers: dict[str, str]) -> Any:
    return _streamed(await wire.rest("POST", f"{ECHO}/message:stream", v10(message_id, text), **headers).body())


def _streamed(body: bytes) -> Any:
    """The whole stream without request ids, or the error."""
    if not body.startswith(b"id:"):
        told = json.loads(body.removeprefix(b"data: "))
        return told["error"]
    told = [json.loads(frame["data"]) for frame in frames_of(body)]
    return [one.get("result", one) for one in told]


WAYS = [in_10, in_03, over_http, streamed_in_10, streamed_in_03, streamed_over_http]


@pytest.mark.requirement("agents:repeat:first-result")
@pytest.mark.parametrize("send", WAYS)
async def test_a_message_sent_again_gets_its_first_result(wire: Wire, send: Send) -> None:
    message_id = any_id()
    first = await send(wire, message_id, "stream one two", {})
    assert await send(wire, message_id, "stream one two", {}) == first
    assert await send(wire, any_id(), "stream one two", {}) != first


@pytest.mark.requirement("agents:repeat:test-kit")
@pytest.mark.parametrize("send", WAYS)
async def test_an_id_starts_another_task_with_another_message(wire: Wire, send: Send) -> None:
    message_id = any_id()
    first = await send(wire, message_id, "one", {})
    second = await send(wire, message_id, "two", {})
    assert first != second
    assert await send(wire, message_id, "one", {}) == first


@pytest.mark.requirement("agents:repeat:other-content")
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_within_a_task_the_id_of_another_message_is_refused(wire: Wire, method: str) -> None:
    asking = (await wire.call("SendMessage", v10("m", "ask"), ECHO))["task"]["id"]
    message_id = any_id()
    await wire.call("SendMessage", v10(message_id, "red", taskId=asking), ECHO)
    body = await wire.ask(method, v10(message_id, "blue", taskId=asking), ECHO).body()
    error = json.loads(body.removeprefix(b"data: "))["error"]
    assert error["code"] == -32602
    assert f"The message id {message_id!r} was used for another message" in error["message"]


@pytest.mark.requirement("agents:repeat:key")
@pytest.mark.parametrize("send", [*WAYS, in_agentvault])
async def test_an_idempotency_key_works_like_a_message_id(wire: Wire, send: Send) -> None:
    key = any_id()
    first = await send(wire, any_id(), "one", {"idempotency_key": key})
    assert await send(wire, any_id(), "one", {"idempotency_key": f'"{key}"'}) == first
    error = await send(wire, any_id(), "two", {"idempotency_key": key})
    assert "was used for another message" in error["message"]
    assert await send(wire, any_id(), "one", {"idempotency_key": any_id()}) != first


@pytest.mark.requirement("agents:repeat:answers")
async def test_a_repeated_answer_does_not_answer_the_next_question(wire: Wire) -> None:
    asking = (await wire.call("SendMessage", v10("m", "ask"), ECHO))["task"]
    answer = v10("m", "Good night", taskId=asking["id"])
    done = (await wire.call("SendMessage", answer, ECHO))["task"]
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (await wire.call("SendMessage", answer, ECHO))["task"] == done
