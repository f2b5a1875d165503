"""Messages during a call: progress and log lines; and cancelling the call."""

import asyncio
import contextlib

import pytest

from tests.behaviour.clients import (
    EVERY_REVISION,
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    SESSION,
    STATELESS,
    STDIO,
    STDIO_MODERN,
    Client,
    HttpClient,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import AppMaker, Connect, connect_http
from tests.waiting import until

pytestmark = pytest.mark.anyio

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


@pytest.mark.parametrize("token", ["token", 7])
@pytest.mark.requirement("mcp:progress:reported")
async def test_progress_is_reported_under_the_callers_token_before_the_answer(
    connect: Connect, token: str | int
) -> None:
    client = await connect()
    reply = await client.call("count", {"steps": 3}, meta={"progressToken": token})
    told = reply.notified("notifications/progress")
    assert [(one["progressToken"], one["progress"], one["total"]) for one in told] == [(token, n, 3) for n in range(3)]
    assert reply.text == "counted"


@pytest.mark.requirement("mcp:progress:not-asked")
async def test_nobody_who_did_not_ask_hears_of_progress(connect: Connect) -> None:
    client = await connect()
    reply = await client.call("count", {"steps": 3})
    assert reply.said == []
    if reply.http is not None:
        assert reply.http.headers["content-type"] == "application/json", "a quiet call is plain JSON"


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:revisions:progress-message")
async def test_progress_has_a_message_from_2025_03_26_on(connect: Connect, wire: Wire) -> None:
    client = await connect()
    told = (await client.call("count", {"steps": 1}, meta={"progressToken": 1})).notified("notifications/progress")
    assert ("message" in told[0]) == (wire.revision >= "2025-03-26")


@pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:http:sse-only-when-streaming")
async def test_a_call_that_speaks_on_its_way_is_answered_by_a_stream(connect: Connect) -> None:
    client = await connect()
    reply = await client.call("count", {"steps": 1}, meta={"progressToken": 1})
    assert reply.http is not None
    assert reply.http.status == 200
    assert reply.http.headers["content-type"] == "text/event-stream"
    assert reply.http.headers["x-accel-buffering"] == "no"
    assert "no-cache" in reply.http.headers["cache-control"]


@pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:http:accept-json-only")
async def test_who_cannot_read_a_stream_gets_the_answer_alone(make_app: AppMaker, wire: Wire) -> None:
    client = await connect_http(await make_app(), wire)
    client.extra = {"accept": "application/json"}
    reply = await client.call("count", {"steps": 2}, meta={"progressToken": 1})
    assert reply.http is not None
    assert reply.http.headers["content-type"] == "application/json"
    assert reply.said == []
    assert reply.text == "counted"
    await client.close()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION, HTTP_MODERN, STDIO_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:logging:level")
async def test_log_lines_come_from_the_level_asked_for_upwards(connect: Connect, wire: Wire, level: str) -> None:
    client = await connect()
    if wire.modern:
        reply = await client.call("chatter", meta={LOG_LEVEL: level})
    else:
        assert (await client.request("logging/setLevel", {"level": level})).result == {}
        reply = await client.call("chatter")
    told = reply.notified("notifications/message")
    assert [one["level"] for one in told] == LEVELS[LEVELS.index(level) :]
    assert told[0] == {"level": level, "data": {"said": level}, "logger": "lab"}


@pytest.mark.requirement("mcp:logging:silent-by-default", "mcp:2026:log-level-per-request")
async def test_without_a_level_nothing_is_logged_to_the_client(connect: Connect) -> None:
    client = await connect()
    assert (await client.call("chatter")).said == []


@pytest.mark.parametrize("wire", [HTTP_MODERN, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:2026:log-level-per-request")
async def test_a_modern_log_level_lasts_for_one_request_and_an_unknown_one_is_silence(connect: Connect) -> None:
    client = await connect()
    assert (await client.call("chatter", meta={LOG_LEVEL: "error"})).said
    assert (await client.call("chatter")).said == []
    assert (await client.call("chatter", meta={LOG_LEVEL: "loud"})).said == []


@pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:logging:unknown-level")
async def test_an_unknown_log_level_is_refused_with_the_known_ones(connect: Connect) -> None:
    client = await connect()
    error = (await client.request("logging/setLevel", {"level": "loud"})).error
    assert error["code"] == -32602
    assert "emergency" in error["message"]


async def ended(client: Client, key: str) -> str:
    """How the hanging call ended, once it has."""
    found = await until(lambda: client.call("endings", {"key": key}), lambda found: found.text != "running")
    return found.text


@pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION, MEMORY_MODERN, STDIO_MODERN, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:cancellation:stops-the-call")
async def test_a_cancelled_call_is_stopped_and_never_answered(connect: Connect, wire: Wire) -> None:
    client = await connect()
    key = f"cancel-{wire_name(wire)}"
    exchange = await client.open_call("hang", {"key": key}, meta={"progressToken": 1})
    await exchange.wait_for("notifications/progress")
    await client.cancel(exchange)
    assert await ended(client, key) == "cancelled"
    with contextlib.suppress(EOFError):
        if wire.http:
            assert await exchange.next() is None, "the stream ends without an answer"
    assert exchange.arrived.empty()


@pytest.mark.parametrize("wire", [MEMORY, SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:cancellation:unknown-ignored")
async def test_cancelling_what_is_unknown_or_over_is_nothing(connect: Connect) -> None:
    client = await connect()
    over = await client.open_call("echo", {"text": "x"})
    await over.reply()
    await client.cancel(over)
    await client.notify("notifications/cancelled", {"requestId": "never-seen"})
    await client.notify("notifications/cancelled", {"requestId": None})
    await client.notify("notifications/cancelled")
    assert (await client.call("echo", {"text": "fine"})).text == "fine"


@pytest.mark.parametrize("wire", [SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:cancellation:own-session-only")
async def test_a_session_cannot_cancel_the_calls_of_another(connect: Connect) -> None:
    one, other = await connect(), await connect()
    exchange = await one.open("tools/call", {"name": "hang", "arguments": {"key": "mine"}}, request_id="shared",
                              meta={"progressToken": 1})  # fmt: skip
    await exchange.wait_for("notifications/progress")
    await other.notify("notifications/cancelled", {"requestId": "shared"})
    assert (await one.call("endings", {"key": "mine"})).text == "running"
    await one.cancel(exchange)
    assert await ended(one, "mine") == "cancelled"


@pytest.mark.parametrize("wire", [SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:http:legacy-disconnect-is-no-cancel")
async def test_a_legacy_client_that_goes_away_does_not_stop_its_call(connect: Connect) -> None:
    client = await connect()
    assert isinstance(client, HttpClient)
    exchange = await client.open_call("hang", {"key": "left"}, meta={"progressToken": 1})
    await exchange.wait_for("notifications/progress")
    assert exchange.http is not None
    exchange.http.disconnect()
    await asyncio.sleep(0)
    assert (await client.call("endings", {"key": "left"})).text == "running"
    await client.cancel(exchange)
    assert await ended(client, "left") == "cancelled"


@pytest.mark.parametrize("wire", [MEMORY, STDIO, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:jsonrpc:id-in-use")
async def test_an_id_in_use_cannot_be_used_again_until_its_answer(connect: Connect, wire: Wire) -> None:
    client = await connect()
    key = f"twice-{wire_name(wire)}"
    exchange = await client.open("tools/call", {"name": "hang", "arguments": {"key": key}}, request_id="same",
                                 meta={"progressToken": 1})  # fmt: skip
    await exchange.wait_for("notifications/progress")
    again = await client.request("tools/list", request_id="same")
    assert again.error["code"] == -32600
    await client.cancel(exchange)
    assert await ended(client, key) == "cancelled"
    assert (await client.request("tools/list", request_id="same")).result["tools"]


@pytest.mark.parametrize("wire", [MEMORY_MODERN, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:tools:heavy")
async def test_of_heavy_tools_two_run_at_a_time(connect: Connect, wire: Wire) -> None:
    key = f"heavy-{wire_name(wire)}"
    clients = [await connect() for _ in range(3)]
    calls = [await client.open_call("heavy", {"key": key}, meta={"progressToken": 1}) for client in clients]
    for call in calls[:2]:
        await call.wait_for("notifications/progress")
    await clients[0].call("echo", {"text": "others are not held up"})
    assert calls[2].arrived.empty(), "the third waits for a place"
    await clients[0].call("write_note", {"name": key, "text": "x"})
    assert [(await call.reply()).text for call in calls] == ["done"] * 3


@pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:legacy:ping")
async def test_a_ping_is_answered_with_nothing_while_a_call_runs(connect: Connect, wire: Wire) -> None:
    client = await connect()
    key = f"ping-{wire_name(wire)}"
    exchange = await client.open_call("hang", {"key": key}, meta={"progressToken": 1})
    await exchange.wait_for("notifications/progress")
    assert (await client.request("ping")).result == {}
    await client.cancel(exchange)
    assert await ended(client, key) == "cancelled"
