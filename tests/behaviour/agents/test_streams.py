"""Streams in every dialect: numbered, resumable without gap or duplicate, ending where they should."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Unavailable
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.http_exchange import HttpExchange
from pentad.rooms.agents.codecs.a2a_v10 import V10
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.interface import a2a_streams
from pentad.rooms.agents.interface.a2a_operations import HttpRequest, Stream
from pentad.rooms.agents.interface.a2a_streams import EventCache, EventWriter
from pentad.rooms.agents.models import Event, StatusEvent, Task
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire, frames_of
from tests.behaviour.agents.hall import Steps
from tests.behaviour.agents.test_jsonrpc import av, v03, v10
from tests.behaviour.http_wire import HttpAnswer

pytestmark = pytest.mark.anyio


async def results(answer: HttpAnswer) -> AsyncIterator[tuple[int | None, Any]]:
    """The number and content of each frame, as they arrive."""
    rest = b""
    async for chunk in answer.chunks():
        *complete, rest = (rest + chunk).split(b"\n\n")
        for fields in frames_of(b"\n\n".join(complete)):
            yield (
                int(fields["id"].partition(".")[0]) if "id" in fields else None,
                json.loads(fields.get("data", "null")),
            )


async def test_a_stream_of_1_0_begins_with_the_task_and_ends_with_its_end(wire: Wire) -> None:
    answer = wire.ask("SendStreamingMessage", v10("tck-stream-001-a"))
    told = [(number, body["result"]) async for number, body in results(answer) if body]
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "content-encoding" not in answer.headers
    assert next(iter(told[0][1])) == "task"
    assert told[0][1]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    kinds = [next(iter(body)) for _, body in told[1:]]
    assert kinds == ["statusUpdate", "artifactUpdate", "statusUpdate"]
    assert told[2][1]["artifactUpdate"]["artifact"]["parts"] == [{"text": "Stream hello from TCK"}]
    assert told[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    numbers = [number for number, _ in told if number is not None]
    assert numbers == sorted(set(numbers))


async def test_a_stream_of_0_3_ends_with_a_final_event(wire: Wire) -> None:
    told = [
        body["result"]
        async for _, body in results(wire.ask("message/stream", v03("tck-stream-artifact-chunked-1")))
        if body
    ]
    assert [one["kind"] for one in told] == [
        "task",
        "status-update",
        "artifact-update",
        "artifact-update",
        "status-update",
    ]
    assert [one["final"] for one in told if one["kind"] == "status-update"] == [False, True]
    chunks = [one for one in told if one["kind"] == "artifact-update"]
    assert [(one["append"], one["lastChunk"]) for one in chunks] == [(False, False), (True, True)]


async def test_a_stream_rests_where_the_task_waits_for_the_caller(wire: Wire) -> None:
    told = [
        body["result"]
        async for _, body in results(wire.ask("SendStreamingMessage", v10("tck-input-required-s")))
        if body
    ]
    assert told[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    task = told[0]["task"]["id"]
    more = [
        body["result"] async for _, body in results(wire.ask("SendStreamingMessage", v10("m", taskId=task))) if body
    ]
    assert more[0]["task"]["id"] == task
    assert more[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_an_answer_without_a_task_is_a_stream_of_one(wire: Wire) -> None:
    told = [body async for _, body in results(wire.ask("SendStreamingMessage", v10("tck-message-response-s")))]
    assert [next(iter(one["result"])) for one in told] == ["message"]
    told = [body async for _, body in results(wire.ask("message/stream", v03("tck-message-response-t")))]
    assert [one["result"]["kind"] for one in told] == ["message"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("SendStreamingMessage", {}), ("SendStreamingMessage", v10("m", taskId="none"))],
)
async def test_a_stream_that_cannot_begin_is_an_error_in_json(wire: Wire, method: str, params: Any) -> None:
    answer = wire.ask(method, params)
    assert "error" in await answer.json()
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "params", "headers", "code"),
    [
        ("message/stream", v03(""), {}, -32602),
        ("message/stream", [], {}, -32602),
        ("message/stream", v03("m", taskId="none"), {}, -32001),
        ("message/stream", v03("m"), {"a2a_version": "1.0"}, -32009),
        ("message/stream", v03("m"), {"a2a_version": "9.9"}, -32009),
        ("tasks/resubscribe", {"id": "none"}, {}, -32001),
        ("tasks/resubscribe", {}, {}, -32602),
    ],
)
@pytest.mark.requirement("agents:dialects:stream-errors")
async def test_in_0_3_a_stream_that_cannot_begin_is_an_event_with_the_error(
    wire: Wire, method: str, params: Any, headers: dict[str, str], code: int
) -> None:
    """Its clients read only events: for a JSON answer they just report that it is not a stream."""
    answer = wire.ask(method, params, **headers)
    [frame] = frames_of(await answer.body())
    error = json.loads(frame["data"])
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (error["jsonrpc"], error["error"]["code"]) == ("2.0", code)
    assert isinstance(error["id"], int)
    assert "event" not in frame


@pytest.mark.requirement("agents:dialects:stream-errors")
async def test_other_methods_of_0_3_report_errors_in_json(wire: Wire) -> None:
    for method in ("message/send", "tasks/get", "tasks/cancel", "tasks/pushNotificationConfig/get"):
        answer = wire.ask(method, {}, a2a_version="0.3")
        assert "error" in await answer.json()
        assert answer.headers["content-type"] == "application/json"


async def test_the_profiles_events_have_names_and_numbers(wire: Wire) -> None:
    made = await wire.call("tasks/send", av("stream one two"), "/agents/echo")
    frames = await wire.frames("tasks/sendSubscribe", made, "/agents/echo")
    named = [frame["event"] for frame in frames if "event" in frame]
    assert named[0] == "task_status"
    assert set(named) == {"task_status", "task_artifact"}
    numbers = [int(frame["id"]) for frame in frames if "id" in frame]
    assert numbers == list(range(1, len(numbers) + 1))
    last = json.loads(frames[-1]["data"])
    assert (last["taskId"], last["state"]) == (made["id"], "COMPLETED")
    again = await wire.frames("tasks/sendSubscribe", made, "/agents/echo")
    assert again == frames


async def test_an_unknown_task_of_the_profile_is_an_event_that_says_so(wire: Wire) -> None:
    for params in ({"id": "none"}, {}, {"id": 7}):
        answer = wire.ask("tasks/sendSubscribe", params)
        [frame] = frames_of(await answer.body())
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert frame["event"] == "error"
        assert json.loads(frame["data"])["code"] in (-32001, -32602)


async def test_a_task_that_is_over_is_subscribed_to_only_to_hear_the_rest(wire: Wire) -> None:
    task = (await wire.call("SendMessage", v10("tck-stream-001-b")))["task"]
    assert (await wire.refused("SubscribeToTask", {"id": task["id"]}))["code"] == -32004
    [frame] = await wire.frames("tasks/resubscribe", {"id": task["id"]})
    assert json.loads(frame["data"])["error"]["code"] == -32004
    all_told = await wire.frames("SubscribeToTask", {"id": task["id"]}, last_event_id="0")
    numbers = [int(frame["id"]) for frame in all_told]
    assert numbers == list(range(2, numbers[-1] + 1))  # the first one was the caller's own message
    assert all("data" in frame for frame in all_told)
    for place, seen in enumerate(numbers, 1):
        rest = await wire.frames("SubscribeToTask", {"id": task["id"]}, last_event_id=str(seen))
        assert [int(frame["id"]) for frame in rest] == numbers[place:]
    assert (await wire.refused("SubscribeToTask", {"id": task["id"]}, last_event_id="999"))["code"] == -32602


@pytest.mark.parametrize("method", ["SubscribeToTask", "tasks/resubscribe", "tasks/sendSubscribe"])
async def test_a_stream_that_was_cut_goes_on_without_gap_or_duplicate(wire: Wire, method: str) -> None:
    key = f"cut {method}"
    steps = Steps.more[key] = asyncio.Queue()
    made = await wire.call("tasks/send", av(key), "/agents/steps")
    for number in range(6):
        steps.put_nowait(f"{number} ")
    seen: list[int] = []
    texts: list[str] = []
    while len(texts) < 6:
        headers = {"last_event_id": str(seen[-1])} if seen else {}
        answer = wire.ask(method, made, "/agents/steps", **headers)
        async for number, body in results(answer):
            assert number is not None
            result = (body or {}).get("result", body) or {}
            if seen:
                assert number == seen[-1] + 1
            elif "task" in result or result.get("kind") == "task":
                texts = [part["text"] for one in _artifacts(result) for part in one["parts"]]
            seen.append(number)
            if (text := _text(result)) is not None:
                texts.append(text)
                break
        await answer.leave()
    assert texts == [f"{number} " for number in range(6)]
    steps.put_nowait(None)
    rest = await wire.frames(method, made, "/agents/steps", last_event_id=str(seen[-1]))
    assert {int(frame["id"].partition(".")[0]) for frame in rest if "id" in frame} == {seen[-1] + 1}
    assert "omplet" in rest[-1]["data"].lower()


async def test_a_stream_cut_between_the_two_frames_of_one_event_goes_on_with_the_second(wire: Wire) -> None:
    made = await wire.call("tasks/send", av("ask"), "/agents/echo")
    answer = wire.ask("tasks/sendSubscribe", made, "/agents/echo")
    seen: list[dict[str, str]] = []
    async for chunk in answer.chunks():
        seen += frames_of(chunk)
        if "INPUT_REQUIRED" in chunk.decode():
            break
    await answer.leave()
    said, asks = seen[-2:]
    assert (said["event"], asks["event"]) == ("task_message", "task_status")
    assert said["id"] == f"{asks['id']}.1"
    await wire.call("tasks/cancel", made, "/agents/echo")

    every = await wire.frames("tasks/sendSubscribe", made, "/agents/echo")
    assert every[: len(seen)] == seen
    for place, frame in enumerate(every[:-1], 1):
        rest = await wire.frames("tasks/sendSubscribe", made, "/agents/echo", last_event_id=frame["id"])
        assert rest == every[place:]


def _artifacts(result: Any) -> list[Any]:
    return result.get("task", result).get("artifacts", [])


def _text(result: Any) -> str | None:
    update = result.get("artifactUpdate", result)
    if "artifact" not in update:
        return None
    artifact = update["artifact"]
    return artifact["content"] if "content" in artifact else artifact["parts"][0]["text"]


async def test_all_that_follow_hear_the_same_in_the_same_order(wire: Wire) -> None:
    steps = Steps.more["many"] = asyncio.Queue()
    made = await wire.call("tasks/send", av("many"), "/agents/steps")
    streams = [wire.ask("SubscribeToTask", made, "/agents/steps") for _ in range(3)]
    heard = [results(stream) for stream in streams]
    for one in heard:
        assert "task" in (await anext(one))[1]["result"]
    for number in range(20):
        steps.put_nowait(str(number))
    steps.put_nowait(None)
    told = [[body["result"] async for _, body in one] for one in heard]
    assert told[0] == told[1] == told[2]
    assert [_text(one) for one in told[0][:-1]] == [str(number) for number in range(20)]


async def test_a_quiet_stream_has_a_heartbeat(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(a2a_streams, "HEARTBEAT_SECONDS", 0.01)
    Steps.more["quiet"] = asyncio.Queue()
    made = await wire.call("tasks/send", av("quiet"), "/agents/steps")
    answer = wire.ask("tasks/sendSubscribe", made, "/agents/steps")
    async for chunk in answer.chunks():
        if chunk.startswith(b":"):
            break
    await answer.leave()
    assert (await wire.call("tasks/get", made, "/agents/steps"))["state"] in ("SUBMITTED", "WORKING")
    Steps.more["quiet"].put_nowait(None)


async def test_streams_do_not_count_as_calls_in_flight(wire: Wire) -> None:
    Steps.more["open"] = asyncio.Queue()
    made = await wire.call("tasks/send", av("open"), "/agents/steps")
    before = wire.front._in_flight
    streams = [await wire.ask("SubscribeToTask", made, "/agents/steps").head() for _ in range(3)]
    assert wire.front._in_flight == before
    Steps.more["open"].put_nowait(None)
    for stream in streams:
        assert b"COMPLETED" in await stream.body()
    assert wire.front._in_flight == before


async def test_a_stream_ends_with_the_credentials_it_was_opened_with(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(a2a_streams, "HEARTBEAT_SECONDS", 0.01)
    settings = Settings(data=tmp_path_factory.mktemp("revoked"), rooms=("tests.behaviour.agents.hall:ROOM",))
    async with open_app(settings) as app:
        wire, key = Wire(app), await app.api_keys.create("one", scopes=["agents:*"])
        Steps.more["revoked"] = asyncio.Queue()
        made = await wire.call("tasks/send", av("revoked"), "/agents/steps", x_api_key=key.token)
        answer = wire.ask("SubscribeToTask", made, "/agents/steps", x_api_key=key.token)
        chunks = answer.chunks()
        assert b'"task"' in await anext(chunks)
        await app.api_keys.revoke(key.key.id)
        async with asyncio.timeout(60):
            assert all([chunk.startswith(b":") or not chunk async for chunk in chunks])


class Voices:
    """What the engine gives a follower before it fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def events(self) -> AsyncGenerator[Event | Task]:
        yield Event(1, 0.0, StatusEvent("working"))
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (Unavailable("The store is away."), -32603, "The store is away."),
        (RuntimeError("canary-33"), -32603, "incident"),
    ],
)
async def test_what_goes_wrong_on_the_way_is_said_in_the_stream(error: Exception, code: int, said: str) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    class Unprotected:
        public_url = None
        stopping = asyncio.Event()

        async def principal(self, scope: Any, headers: Any) -> Principal:
            return LOCAL

        def scope_challenge(self, scope: Any, headers: Any, needed: str) -> list[tuple[bytes, bytes]]:
            return []

    exchange = HttpExchange({}, frozenset(), LOCAL, receive, send, Unprotected())
    request = HttpRequest(LOCAL, hosted(Steps), "http://localhost", {}, V10, exchange=exchange)
    response = a2a_streams.StreamResponse(request, receive, send)
    stream = Stream("t", "c", Voices(error).events())
    await response.send_stream(EventWriter(EventCache(), V10, "t", "c", b"7"), stream, [])
    told = frames_of(b"".join([message.get("body", b"") for message in sent]))
    last = json.loads(told[-1]["data"])
    assert (len(told), last["id"], last["error"]["code"]) == (2, 7, code)
    assert said in last["error"]["message"]
    assert "canary" not in told[-1]["data"]


SUBSCRIPTIONS = {
    "1.0": lambda wire, task, seen: wire.ask("SubscribeToTask", {"id": task}, "/agents/echo", last_event_id=seen),
    "0.3": lambda wire, task, seen: wire.ask("tasks/resubscribe", {"id": task}, "/agents/echo", last_event_id=seen),
    "agentvault": lambda wire, task, seen: wire.ask(
        "tasks/sendSubscribe", {"id": task}, "/agents/echo", last_event_id=seen
    ),
    "http": lambda wire, task, seen: wire.rest("GET", f"/agents/echo/tasks/{task}:subscribe", last_event_id=seen),
}


@pytest.mark.requirement("agents:streams:resumed-quiet")
@pytest.mark.parametrize("dialect", SUBSCRIPTIONS)
async def test_a_stream_that_is_taken_up_where_nothing_is_new_begins_at_once_and_beats(
    wire: Wire, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(a2a_streams, "HEARTBEAT_SECONDS", 0.05)
    task = (await wire.call("tasks/send", av("slow"), "/agents/echo"))["id"]
    async with asyncio.timeout(60):
        told = wire.ask("SubscribeToTask", {"id": task}, "/agents/echo")
        seen = frames_of(await anext(told.chunks()))[0]["id"]
        await told.leave()

        answer = SUBSCRIPTIONS[dialect](wire, task, seen)
        chunks = answer.chunks()
        assert (await answer.head()).status == 200
        assert await anext(chunks) == b": still here\n\n"
        await wire.call("CancelTask", {"id": task}, "/agents/echo")
        rest = frames_of(b"".join([chunk async for chunk in chunks]))
    assert [int(one["id"]) for one in rest] == [int(seen) + 1]
