"""Tools that ask first: by elicitation, or with a token that is valid for one call by one caller."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.errors import Misconfigured
from pentad.mcp.confirmations import SECONDS, ConfirmRules
from pentad.settings.model import Settings, checked
from tests.behaviour.clients import (
    ALL_CAPABILITIES,
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    SESSION,
    STATELESS,
    Client,
    Object,
    Reply,
    Wire,
    wire_name,
)
from tests.behaviour.clocks import TurnedClock
from tests.behaviour.connecting import ROOM, connect_http, connected_in_memory
from tests.behaviour.test_client_requests import answered
from tests.stores import app_database

pytestmark = pytest.mark.anyio

ASKING = pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
WITHOUT_ELICITATION = pytest.mark.parametrize(
    "wire", [Wire("session", "2024-11-05"), SESSION, STATELESS, HTTP_MODERN], ids=wire_name
)
NOTE = {"name": "plan", "text": "buy milk"}
TOKEN = re.compile(r"confirm_token '([\w-]{24})'")
YES: Object = {"elicitation/create": {"action": "accept", "content": {"confirm": True}}}


@pytest.fixture(params=["sqlite", "postgres"])
async def careful(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[App]:
    """The lab, with tools that ask first, on both stores."""
    async with app_database(request, (ROOM,)) as database:
        settings = Settings(
            data=tmp_path, database=database, rooms=(ROOM,), auth="none", confirm=("write_note", "wipe", "ask_*")
        )
        async with open_app(settings, clock=TurnedClock()) as app:
            notes(app).clear()
            yield app


def notes(app: App) -> dict[str, str]:
    return app.rooms[0].service.notes


def token_in(reply: Reply) -> str:
    assert reply.result["isError"] is True
    found = TOKEN.search(reply.text)
    assert found is not None, reply.text
    return found[1]


@ASKING
@pytest.mark.requirement("tools:confirm:elicitation")
async def test_the_user_is_asked_and_the_tool_runs_if_they_agree(careful: App, wire: Wire) -> None:
    client = await connect_http(careful, wire, ALL_CAPABILITIES)
    reply, asked = await answered(client, "tools/call", {"name": "write_note", "arguments": NOTE}, YES)
    assert reply.text == "lab://notes/plan"
    (question,) = asked
    assert question["params"]["message"].startswith('Go ahead? write_note (write_note) with {"name":"plan"')
    assert notes(careful) == {"plan": "buy milk"}


@ASKING
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept", "content": {"confirm": False}},
    ],
)
@pytest.mark.requirement("tools:confirm:declined")
async def test_a_tool_never_runs_after_a_no(careful: App, wire: Wire, answer: Object) -> None:
    client = await connect_http(careful, wire, ALL_CAPABILITIES)
    params = {"name": "write_note", "arguments": NOTE}
    reply, _ = await answered(client, "tools/call", params, {"elicitation/create": answer})
    assert "declined" in reply.complaint
    assert notes(careful) == {}


@pytest.mark.parametrize("answer", [{"action": "accept"}, {"action": "accept", "content": {}}, {"action": "yes"}, 7])
@pytest.mark.requirement("tools:confirm:declined")
async def test_an_answer_that_does_not_say_yes_is_no_yes(careful: App, answer: Any) -> None:
    modern = await connect_http(careful, HTTP_MODERN, ALL_CAPABILITIES)
    first = (await modern.call("write_note", NOTE)).result
    (key,) = first["inputRequests"]
    more = {"inputResponses": {key: answer}, "requestState": first["requestState"]}
    again = await modern.request("tools/call", {"name": "write_note", "arguments": NOTE, **more})
    assert again.result["resultType"] == "input_required"
    legacy = await connect_http(careful, SESSION, ALL_CAPABILITIES)
    exchange = await legacy.open_call("write_note", NOTE)
    question = await exchange.next()
    await legacy.respond(question["id"], answer)
    assert (await exchange.reply()).result["isError"] is True
    assert notes(careful) == {}


@pytest.mark.requirement("tools:confirm:unasked")
async def test_an_answer_to_no_question_confirms_nothing(careful: App) -> None:
    client = await connect_http(careful, HTTP_MODERN, ALL_CAPABILITIES)
    call = {"name": "write_note", "arguments": NOTE}
    yes = YES["elicitation/create"]
    for key in ("confirm", "pentad/confirm", "pentad_confirm", ""):
        reply = await client.request("tools/call", {**call, "inputResponses": {key: yes}})
        assert reply.result["resultType"] == "input_required"
    first = (await client.request("tools/call", call)).result
    (key,) = first["inputRequests"]
    without_state = await client.request("tools/call", {**call, "inputResponses": {key: yes}})
    assert without_state.result["resultType"] == "input_required", "the key alone proves nothing"
    other = {"name": "write_note", "arguments": {**NOTE, "text": "sell the house"}}
    moved = {**other, "inputResponses": {key: yes}, "requestState": first["requestState"]}
    assert (await client.request("tools/call", moved)).error["code"] == -32602
    assert notes(careful) == {}


@pytest.mark.requirement("tools:confirm:once")
async def test_a_confirmation_of_the_modern_era_works_once(careful: App) -> None:
    client = await connect_http(careful, HTTP_MODERN, ALL_CAPABILITIES)
    call = {"name": "write_note", "arguments": NOTE}
    first = (await client.request("tools/call", call)).result
    (key,) = first["inputRequests"]
    given = {**call, "inputResponses": {key: YES["elicitation/create"]}, "requestState": first["requestState"]}
    assert (await client.request("tools/call", given)).text == "lab://notes/plan"
    notes(careful).clear()
    replayed = await client.request("tools/call", given)
    assert "used or expired" in replayed.complaint
    assert notes(careful) == {}


@pytest.mark.requirement("tools:confirm:unasked")
async def test_the_key_of_a_question_is_no_token(careful: App) -> None:
    client = await connect_http(careful, HTTP_MODERN, ALL_CAPABILITIES)
    (key,) = (await client.call("write_note", NOTE)).result["inputRequests"]
    assert "another call" in (await client.call("write_note", {**NOTE, "confirm_token": key})).complaint
    assert notes(careful) == {}


@pytest.mark.requirement("tools:confirm:once")
async def test_a_later_round_of_a_confirmed_call_works_once_too(careful: App) -> None:
    client = await connect_http(careful, HTTP_MODERN, ALL_CAPABILITIES)
    given: Object = {"name": "ask_twice", "arguments": {}}
    answer = {"action": "accept", "content": {"confirm": True, "name": "Ada", "color": "red"}}
    for _ in range(3):
        asked = (await client.request("tools/call", given)).result
        assert asked["resultType"] == "input_required"
        given = {
            "name": "ask_twice", "arguments": {}, "requestState": asked["requestState"],
            "inputResponses": dict.fromkeys(asked["inputRequests"], answer),
        }  # fmt: skip
    assert (await client.request("tools/call", given)).text == "Ada likes red"
    assert "used or expired" in (await client.request("tools/call", given)).complaint


@ASKING
@pytest.mark.requirement("tools:confirm:elicitation")
async def test_a_tool_with_questions_of_its_own_is_confirmed_first_and_then_asks_them(careful: App, wire: Wire) -> None:
    client = await connect_http(careful, wire, ALL_CAPABILITIES)
    answer = {"action": "accept", "content": {"confirm": True, "name": "Ada", "color": "red"}}
    reply, asked = await answered(client, "tools/call", {"name": "ask_twice"}, {"elicitation/create": answer})
    assert reply.text == "Ada likes red"
    assert [one["params"]["message"].split()[0] for one in asked] == ["Go", "Who", "Which"]


@WITHOUT_ELICITATION
@pytest.mark.requirement("tools:confirm:token")
async def test_a_client_without_elicitation_gets_a_token_and_runs_the_call_with_it(careful: App, wire: Wire) -> None:
    client = await connect_http(careful, wire)
    first = await client.call("write_note", NOTE)
    assert "Not done yet: write_note" in first.text
    assert "Ask the user" in first.text
    assert notes(careful) == {}
    done = await client.call("write_note", {**NOTE, "confirm_token": token_in(first)})
    assert done.text == "lab://notes/plan"
    again = await client.call("write_note", {**NOTE, "confirm_token": token_in(first)})
    assert "used, expired, or belongs to another call" in again.complaint


@pytest.mark.requirement("tools:confirm:bound")
async def test_a_token_is_for_one_caller_one_tool_and_exactly_these_arguments(careful: App) -> None:
    client = await connect_http(careful, HTTP_MODERN)
    token = token_in(await client.call("write_note", NOTE))
    for name, arguments in (
        ("write_note", {**NOTE, "text": "buy milk "}),
        ("write_note", {**NOTE, "name": "other"}),
        ("wipe", {}),
    ):
        refused = await client.call(name, {**arguments, "confirm_token": token})
        assert "belongs to another call" in refused.complaint
    for wrong in ("", "x", token[:-1], token.swapcase(), token + " ", 7, None, ["x"]):
        assert (await client.call("write_note", {**NOTE, "confirm_token": wrong})).result["isError"] is True
    reordered = {"text": NOTE["text"], "confirm_token": token, "name": NOTE["name"]}
    assert (await client.call("write_note", reordered)).text == "lab://notes/plan", "the order does not matter"


@pytest.mark.requirement("tools:confirm:bound")
async def test_a_token_of_another_user_is_worth_nothing(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=(ROOM,), confirm=("write_note",))
    async with open_app(settings) as app:
        clients: list[Client] = []
        for name in ("ada", "eve"):
            await app.users.add(name, "correct horse battery", role="writer")
            key = await app.api_keys.create("key", owner=name, scopes=["*:read", "*:write"])
            clients.append(await connect_http(app, HTTP_MODERN, authorization=f"Bearer {key.token}"))
        ada, eve = clients
        token = token_in(await ada.call("write_note", NOTE))
        assert "another call" in (await eve.call("write_note", {**NOTE, "confirm_token": token})).complaint
        assert (await ada.call("write_note", {**NOTE, "confirm_token": token})).text == "lab://notes/plan"
        await app.audit.flush()
        entries = [(one.tool, one.outcome) for one in await app.audit.recent(room="lab")][::-1]
        assert entries == [("write_note", "not_confirmed")] * 2 + [("write_note", "ok")]
        stored = await app.database.read(lambda rows: rows.all("SELECT * FROM mcp_confirmations"))
        assert token not in json.dumps([[str(value) for value in row] for row in stored])


@pytest.mark.requirement("tools:confirm:expires")
async def test_a_token_expires_and_is_then_forgotten(careful: App) -> None:
    clock = careful.clock
    assert isinstance(clock, TurnedClock)
    client = await connect_http(careful, HTTP_MODERN)
    token = token_in(await client.call("write_note", NOTE))
    clock.pass_seconds(SECONDS + 1)
    assert "expired" in (await client.call("write_note", {**NOTE, "confirm_token": token})).complaint
    await client.call("write_note", NOTE)
    assert await careful.database.read(lambda rows: rows.value("SELECT count(*) FROM mcp_confirmations")) == 1
    assert notes(careful) == {}


@pytest.mark.requirement("tools:confirm:once")
async def test_of_many_calls_with_one_token_at_the_same_time_one_runs(careful: App) -> None:
    client = await connect_http(careful, HTTP_MODERN)
    token = token_in(await client.call("write_note", NOTE))
    calls = [client.call("write_note", {**NOTE, "confirm_token": token}) for _ in range(8)]
    results = [reply.result["isError"] for reply in await asyncio.gather(*calls)]
    assert sorted(results) == [False] + [True] * 7


@pytest.mark.requirement("tools:confirm:order")
async def test_nobody_is_asked_about_a_call_that_could_not_run(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=(ROOM,), confirm=("*",))) as app:
        key = await app.api_keys.create("reader", scopes=["*:read"])
        client = await connect_http(app, HTTP_MODERN, ALL_CAPABILITIES, authorization=f"Bearer {key.token}")
        assert (await client.call("wipe")).error["code"] == -31403
        wrong = await client.call("add", {"a": 1})
        assert "Missing argument 'b'" in wrong.complaint
        assert (await client.call("add", {"a": 1, "b": 2})).result["resultType"] == "input_required"


@pytest.mark.parametrize("wire", [MEMORY, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("tools:confirm:token")
async def test_tools_that_ask_list_the_token_and_others_do_not(careful: App, wire: Wire) -> None:
    async with connected_in_memory(careful, wire, {}) as client:
        entries = {one["name"]: one["inputSchema"] for one in await client.everything("tools/list", "tools")}
    assert entries["write_note"]["properties"]["confirm_token"]["type"] == "string"
    assert "confirm_token" not in entries["write_note"]["required"]
    assert {name for name, schema in entries.items() if "confirm_token" in schema["properties"]} == {
        name for name in entries if name in ("write_note", "wipe") or name.startswith("ask_")
    }
    async with connected_in_memory(careful, wire, {}) as client:
        assert "Unknown argument" in (await client.call("echo", {"text": "x", "confirm_token": "y"})).complaint


Call = Callable[..., Awaitable[Object]]


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[tuple[Client, str]]:
    """A register with one object, whose deletion has to be confirmed."""
    settings = Settings(data=tmp_path, rooms=("registers",), auth="none", confirm=("objects:delete", "objects:purge"))
    async with open_app(settings) as app:
        client = await connect_http(app, HTTP_MODERN)

        async def act(tool: str, **arguments: Any) -> Object:
            reply = await client.call(tool, arguments)
            assert reply.result["isError"] is False, reply.result
            return reply.result["structuredContent"]

        await act("registers", action="create", data={"title": "City", "slug": "city"})
        await act("schemas", action="create", data={"title": "Tree", "slug": "tree", "properties": {}})
        made = await act("objects", action="create", register="city", schema="tree", data={"name": "oak"})
        yield client, str(made["id"])


@pytest.mark.requirement("tools:confirm:actions")
async def test_only_the_named_actions_ask_however_they_are_wrapped(shelf: tuple[Client, str]) -> None:
    client, oak = shelf
    place = {"register": "city", "schema": "tree"}
    assert (await client.call("objects", {"action": "list", **place})).result["isError"] is False
    row = {"action": "delete", "id": oak}
    for arguments in (
        {"action": "delete", "id": oak, **place},
        {"action": "purge", "id": oak, **place},
        {"action": "bulk", "operations": [row], **place},
        {"action": "bulk", "operations": [{"action": "create", "data": {}}, row], **place},
    ):
        assert "Not done yet" in (await client.call("objects", arguments)).complaint, arguments
    plan = (await client.call("objects", {"action": "plan", "operations": [row], **place})).result["structuredContent"]
    commit = {"action": "commit", "plan": plan["id"], **place}
    first = await client.call("objects", commit)
    assert "Not done yet" in first.complaint
    assert (await client.call("objects", {"action": "get", "id": oak, **place})).result["isError"] is False
    done = await client.call("objects", {**commit, "confirm_token": token_in(first)})
    assert done.result["isError"] is False, done.result
    assert (await client.call("objects", {"action": "get", "id": oak, **place})).result["isError"] is True
    made = await client.call("objects", {"action": "bulk", "operations": [{"data": {"name": "elm"}}], **place})
    assert made.result["isError"] is False, "creating asks nobody"


@pytest.mark.requirement("tools:confirm:order")
async def test_a_tool_called_through_call_tool_asks_too(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=(ROOM,), auth="none", confirm=("write_note",))) as app:
        client = await connect_http(app, HTTP_MODERN, path="/mcp/core")
        first = await client.call("call_tool", {"name": "write_note", "arguments": NOTE})
        given = {"name": "write_note", "arguments": {**NOTE, "confirm_token": token_in(first)}}
        assert (await client.call("call_tool", given)).text == "lab://notes/plan"
        asking = await connect_http(app, HTTP_MODERN, ALL_CAPABILITIES, path="/mcp/core")
        params = {"name": "call_tool", "arguments": {"name": "write_note", "arguments": NOTE}}
        reply, asked = await answered(asking, "tools/call", params, YES)
        assert (reply.text, len(asked)) == ("lab://notes/plan", 1)


@pytest.mark.parametrize("wrong", [":delete", "objects:", ""])
@pytest.mark.requirement("tools:confirm:actions")
def test_a_rule_names_a_tool_and_perhaps_an_action(wrong: str) -> None:
    with pytest.raises(Misconfigured, match="confirm has"):
        checked(Settings(confirm=(wrong,)))
    assert ConfirmRules(()) is not None
