"""Several messages in one batch, in the revision that has batches."""

import json

import pytest

from tests.behaviour.clients import (
    LEGACY,
    MEMORY,
    ConnectionClient,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import Connect
from tests.behaviour.plain_http import ECHO, JSON, ON_MODERN, ON_SESSIONS, http, message, told

pytestmark = pytest.mark.anyio


BATCH = [message("tools/call", ECHO, 1), message("ping", None, "two"), {"jsonrpc": "2.0", "method": "notifications/x"}]


@pytest.mark.parametrize("wire", [Wire("session", name) for name in LEGACY], ids=wire_name)
@pytest.mark.requirement("mcp:batches:2025-03-26-only")
async def test_batches_are_accepted_where_the_revision_has_them(connect: Connect, wire: Wire) -> None:
    client = await http(connect)
    status, body = await told(client.post(BATCH))
    if wire.revision == "2025-03-26":
        assert status == 200
        assert [answer["id"] for answer in body] == [1, "two"]
        assert body[0]["result"]["content"][0]["text"] == "hi"
    else:
        assert status == 400
        assert body["error"]["code"] == -32600


@pytest.mark.parametrize("transport", ["memory", "stdio"])
@pytest.mark.parametrize("wire", [MEMORY], ids=wire_name)
@pytest.mark.requirement("mcp:batches:connections")
async def test_batches_are_accepted_on_a_connection_too(connect: Connect, transport: str) -> None:
    client = await connect(Wire(transport, "2025-03-26"))
    assert isinstance(client, ConnectionClient)
    answers = await client.send_raw(json.dumps(BATCH).encode())
    assert [answer["id"] for answer in answers] == [1, "two"]
    newer = await connect(Wire(transport, "2025-11-25"))
    assert isinstance(newer, ConnectionClient)
    assert (await newer.send_raw(json.dumps(BATCH).encode()))["error"]["code"] == -32600


@ON_MODERN
@pytest.mark.requirement("mcp:batches:2025-03-26-only")
async def test_the_modern_era_has_no_batches(connect: Connect) -> None:
    client = await http(connect)
    status, body = await told(client.post([client.message("tools/list", {}, 1, None)]))
    assert status == 400
    assert body["error"]["code"] == -32600


@ON_SESSIONS
@pytest.mark.requirement("mcp:batches:parts")
async def test_each_part_of_a_batch_is_answered_for_itself(connect: Connect) -> None:
    client = await http(connect)
    parts = [message("no/such", None, 1), 7, {"id": 2}, message("initialize", {}, 3), message("tools/call", ECHO, 4)]
    status, body = await told(client.post(parts, JSON))
    assert status == 200
    assert [answer.get("error", {}).get("code") for answer in body] == [-32601, -32600, -32600, -32600, None]
    assert [answer["id"] for answer in body] == [1, None, None, 3, 4]


@ON_SESSIONS
@pytest.mark.parametrize("spaced", [b" \n\t[%b]", b"[%b]"])
@pytest.mark.requirement("mcp:batches:parts")
async def test_a_batch_may_have_blanks_in_front(connect: Connect, spaced: bytes) -> None:
    client = await http(connect)
    status, body = await told(client.post(spaced % json.dumps(message("ping")).encode(), JSON))
    assert (status, body) == (200, [{"jsonrpc": "2.0", "id": 1, "result": {}}])


@ON_SESSIONS
@pytest.mark.requirement("mcp:batches:limits")
async def test_an_empty_or_endless_batch_is_refused_and_one_of_notifications_accepted(connect: Connect) -> None:
    client = await http(connect)
    assert (await told(client.post([], JSON)))[0] == 400
    assert (await told(client.post([message("ping", None, n) for n in range(51)], JSON)))[0] == 400
    quiet = [{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 2
    assert await told(client.post(quiet, JSON)) == (202, None)
