"""Reading resources, and being notified of their changes."""

import base64

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
    ConnectionClient,
    HttpClient,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import Connect

pytestmark = pytest.mark.anyio

FOLLOWING = pytest.mark.parametrize(
    "wire", [MEMORY, STDIO, SESSION, MEMORY_MODERN, STDIO_MODERN, HTTP_MODERN], ids=wire_name
)
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.mark.requirement("mcp:resources:read:text", "mcp:resources:read:blob")
async def test_texts_and_bytes_are_read_as_what_they_are(connect: Connect) -> None:
    client = await connect()
    text = (await client.request("resources/read", {"uri": "lab://static/text"})).result["contents"]
    assert text == [{"uri": "lab://static/text", "mimeType": "text/plain", "text": "static"}]
    blob = (await client.request("resources/read", {"uri": "lab://static/blob"})).result["contents"]
    encoded = base64.b64encode(b"\x89PNG").decode()
    assert blob == [{"uri": "lab://static/blob", "mimeType": "image/png", "blob": encoded}]


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:resources:read:several", "mcp:revisions:contents-meta")
async def test_contents_have_meta_only_where_the_revision_knows_it(connect: Connect, wire: Wire) -> None:
    client = await connect()
    one, two = (await client.request("resources/read", {"uri": "lab://static/parts"})).result["contents"]
    assert [one["text"], two["text"]] == ["one", "two"]
    assert ("_meta" in one) == (wire.revision >= "2025-06-18")


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("lab://notes/alpha", "note alpha"),
        ("lab://notes/%61lpha", "note alpha"),
        ("lab://files/a/b/c.txt", "a/b/c.txt"),
        ("lab://files/100%25", "100%"),
    ],
)
@pytest.mark.requirement("mcp:resources:templates")
async def test_a_template_reads_what_its_variables_say(connect: Connect, uri: str, text: str) -> None:
    client = await connect()
    contents = (await client.request("resources/read", {"uri": uri})).result["contents"]
    assert contents[0]["text"] == text
    assert contents[0]["uri"] == uri


@pytest.mark.parametrize("uri", ["lab://nowhere", "lab://notes/zeta", "lab://notes/a/b", "", "nonsense"])
@pytest.mark.requirement("mcp:resources:read:unknown")
async def test_an_unknown_resource_is_an_error_that_names_it(connect: Connect, wire: Wire, uri: str) -> None:
    client = await connect()
    error = (await client.request("resources/read", {"uri": uri})).error
    assert error["code"] == (-32602 if wire.modern else -32002)
    assert error["data"]["uri"] == uri


@FOLLOWING
@pytest.mark.requirement("mcp:resources:subscribe", "mcp:2026:listen:resources")
async def test_an_update_reaches_whoever_follows_that_resource_and_nobody_else(connect: Connect, wire: Wire) -> None:
    client = await connect()
    async with client.following(uris=("lab://notes/followed",)) as heard:
        await client.call("write_note", {"name": "ignored", "text": "x"})
        await client.call("write_note", {"name": "followed", "text": "x"})
        update = await heard.wait_for("notifications/resources/updated")
        assert update["params"]["uri"] == "lab://notes/followed"
        if wire.modern:
            assert update["params"]["_meta"] == {SUBSCRIPTION: heard.id}


@pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:resources:unsubscribe")
async def test_after_unsubscribing_nothing_more_is_heard(connect: Connect) -> None:
    client = await connect()
    uri = "lab://notes/quiet"
    async with client.following(uris=(uri, "lab://notes/loud")) as heard:
        assert (await client.request("resources/unsubscribe", {"uri": uri})).result == {}
        assert (await client.request("resources/unsubscribe", {"uri": uri})).result == {}, "twice is no error"
        await client.call("write_note", {"name": "quiet", "text": "x"})
        await client.call("write_note", {"name": "loud", "text": "x"})
        assert (await heard.wait_for("notifications/resources/updated"))["params"]["uri"] == "lab://notes/loud"


@pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:resources:subscribe:unknown")
async def test_what_does_not_exist_cannot_be_followed(connect: Connect) -> None:
    client = await connect()
    error = (await client.request("resources/subscribe", {"uri": "lab://nowhere"})).error
    assert error["code"] == -32002
    assert error["data"]["uri"] == "lab://nowhere"


@pytest.mark.parametrize("wire", [STATELESS], ids=wire_name)
@pytest.mark.requirement("mcp:resources:subscribe:needs-session")
async def test_a_subscription_needs_a_session_to_belong_to(connect: Connect) -> None:
    client = await connect()
    reply = await client.request("resources/subscribe", {"uri": "lab://static/text"})
    assert reply.error["code"] == -32600
    assert "initialize" in reply.error["message"]


@FOLLOWING
@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
@pytest.mark.requirement("mcp:list-changed", "mcp:2026:listen:lists")
async def test_a_changed_list_is_announced(connect: Connect, wire: Wire, kind: str) -> None:
    client = await connect()
    async with client.following(kinds=(kind,)) as heard:
        await client.call("change", {"kind": kind})
        told = await heard.wait_for(f"notifications/{kind}/list_changed")
        if wire.modern:
            assert told["params"]["_meta"] == {SUBSCRIPTION: heard.id}


@pytest.mark.parametrize("wire", [HTTP_MODERN, MEMORY_MODERN, STDIO_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:2026:listen:filter")
async def test_a_listener_hears_only_the_kinds_it_asked_for(connect: Connect) -> None:
    client = await connect()
    async with client.following(kinds=("prompts",)) as heard:
        await client.call("change", {"kind": "tools"})
        await client.call("write_note", {"name": "alpha", "text": "note alpha"})
        await client.call("change", {"kind": "prompts"})
        assert (await heard.next())["method"] == "notifications/prompts/list_changed"


@pytest.mark.parametrize("wire", [HTTP_MODERN, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:2026:listen:acknowledged")
async def test_the_first_message_acknowledges_what_will_be_told(connect: Connect) -> None:
    client = await connect()
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["lab://notes/alpha"]}
    exchange = await client.open("subscriptions/listen", {"notifications": wanted}, request_id="listen-1")
    first = await exchange.next()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == wanted
    assert first["params"]["_meta"] == {SUBSCRIPTION: "listen-1"}
    await client.cancel(exchange)


@FOLLOWING
@pytest.mark.requirement("mcp:capabilities")
async def test_only_what_is_there_is_claimed(connect: Connect, wire: Wire) -> None:
    client = await connect()
    if wire.modern:
        claimed = (await client.request("server/discover")).result["capabilities"]
    else:
        assert isinstance(client, HttpClient | ConnectionClient)
        claimed = client.server["capabilities"]
    assert claimed["tools"] == {"listChanged": True}
    assert claimed["prompts"] == {"listChanged": True}
    assert claimed["resources"] == {"subscribe": True, "listChanged": True}
    assert claimed["completions"] == {}
