"""Interrupted streams: a client reconnects with `Last-Event-ID` and misses nothing."""

import json

import pytest

from tests.behaviour.clients import SESSION, Client, HttpClient, Wire, wire_name
from tests.behaviour.connecting import Connect
from tests.behaviour.http_wire import Event, HttpAnswer

pytestmark = pytest.mark.anyio

ON_SESSIONS = pytest.mark.parametrize("wire", [SESSION], ids=wire_name)


def begin(client: Client, tool: str, arguments: dict[str, object], request_id: str = "long") -> HttpAnswer:
    assert isinstance(client, HttpClient)
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}
    return client.post({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})


def progress(event: Event) -> int | None:
    return json.loads(event.data)["params"]["progress"] if "progress" in event.data else None


@ON_SESSIONS
@pytest.mark.requirement("mcp:resumption:primed")
async def test_a_stream_begins_with_an_id_to_come_back_to(connect: Connect) -> None:
    client = await connect()
    events = [event async for event in begin(client, "count", {"steps": 2}).events()]
    assert events[0].data == ""
    assert events[0].id
    assert events[0].retry is not None
    assert events[0].retry.isdecimal()
    ids = [event.id for event in events]
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize("wire", [Wire("session", "2025-06-18")], ids=wire_name)
@pytest.mark.requirement("mcp:resumption:primed")
async def test_a_revision_that_does_not_know_priming_is_spared_it(connect: Connect) -> None:
    client = await connect()
    events = [event async for event in begin(client, "count", {"steps": 1}).events()]
    assert all(event.data for event in events)
    assert all(event.id for event in events), "but its events can be resumed"


@ON_SESSIONS
@pytest.mark.parametrize("seen", [0, 1, 2, 3, 4])
@pytest.mark.requirement("mcp:resumption:no-gap-no-duplicate")
async def test_who_comes_back_gets_what_is_missing_and_nothing_twice(connect: Connect, seen: int) -> None:
    client = await connect()
    assert isinstance(client, HttpClient)
    events = [event async for event in begin(client, "count", {"steps": 3}).events()]
    replay = [event async for event in client.get(events[seen].id).events()]
    assert replay == [Event(event.id, None, event.data) for event in events[seen + 1 :]]


@ON_SESSIONS
@pytest.mark.requirement("mcp:resumption:server-closes")
async def test_a_server_that_ends_a_stream_early_is_asked_for_the_rest(connect: Connect) -> None:
    client = await connect()
    assert isinstance(client, HttpClient)
    cut = [event async for event in begin(client, "gate", {"key": "opened-later"}).events()]
    assert [progress(event) for event in cut if event.data] == [1], "the answer is not there yet"
    rest = client.get(cut[-1].id)
    await rest.head()
    await client.call("write_note", {"name": "opened-later", "text": "x"})
    coming = [event async for event in rest.events()]
    assert progress(coming[0]) == 2
    assert json.loads(coming[-1].data)["result"]["content"][0]["text"] == "through"
    assert json.loads(coming[-1].data)["id"] == "long"


@ON_SESSIONS
@pytest.mark.parametrize("last", ["nonsense", "", "unknown.1", ".", "a.b", "x" * 3000, "1.99999999999"])
@pytest.mark.requirement("mcp:resumption:unknown")
async def test_an_event_nobody_sent_is_refused(connect: Connect, last: str) -> None:
    client = await connect()
    assert isinstance(client, HttpClient)
    answer = client.get(last)
    assert (await answer.json())["error"]["code"] == -32602
    assert answer.status == 400


@ON_SESSIONS
@pytest.mark.requirement("mcp:resumption:own-session-only")
async def test_another_session_cannot_resume_a_stream(connect: Connect) -> None:
    one, other = await connect(), await connect()
    assert isinstance(other, HttpClient)
    events = [event async for event in begin(one, "count", {"steps": 1}).events()]
    answer = other.get(events[0].id)
    await answer.body()
    assert answer.status == 400


@ON_SESSIONS
@pytest.mark.requirement("mcp:resumption:after-disconnect")
async def test_a_call_goes_on_while_its_client_is_away(connect: Connect) -> None:
    client = await connect()
    assert isinstance(client, HttpClient)
    answer = begin(client, "gate", {"key": "away"})
    first = await anext(event async for event in answer.events())
    answer.disconnect()
    await client.call("write_note", {"name": "away", "text": "x"})
    messages = [json.loads(event.data) async for event in client.get(first.id).events()]
    assert [message.get("params", {}).get("progress") for message in messages] == [1, 2, None]
    assert messages[-1]["id"] == "long"
