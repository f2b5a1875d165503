"""Questions to the client: the same tools ask in both eras, with a request or with an answer that asks back."""

import json
from typing import Any

import pytest

from tests.behaviour.clients import (
    ALL_CAPABILITIES,
    ASKING_WIRES,
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    SESSION,
    STATELESS,
    Client,
    ConnectionClient,
    HttpClient,
    Object,
    Reply,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import AppMaker, Connect, connect_http

pytestmark = pytest.mark.anyio

ANSWERS: dict[str, Object] = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada", "color": "red"}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "moo"}},
    "roots/list": {"roots": [{"uri": "file:///home/ada", "name": "home"}]},
}
ASKING = pytest.mark.parametrize("wire", ASKING_WIRES, ids=wire_name)
MODERN_WIRES = pytest.mark.parametrize("wire", [HTTP_MODERN, MEMORY_MODERN], ids=wire_name)
LEGACY_WIRES = pytest.mark.parametrize("wire", [MEMORY, SESSION], ids=wire_name)


async def answered(
    client: Client, method: str, params: Object, answers: dict[str, Object] | None = None
) -> tuple[Reply, list[Object]]:
    """Make a request and answer every question on the way; return the reply and the questions asked."""
    given = {**ANSWERS, **(answers or {})}
    asked: list[Object] = []
    if not client.wire.modern:
        exchange = await client.open(method, params)
        while "method" in (message := await exchange.next()):
            asked.append({"method": message["method"], "params": message["params"]})
            await client.respond(message["id"], given[message["method"]])
        return Reply(message), asked
    more: Object = {}
    for _ in range(5):
        reply = await client.request(method, {**params, **more})
        if "error" in reply.final or reply.result["resultType"] == "complete":
            return reply, asked
        assert reply.result["resultType"] == "input_required"
        assert isinstance(reply.result["requestState"], str)
        questions = reply.result["inputRequests"]
        asked.extend(questions.values())
        more = {
            "inputResponses": {key: given[question["method"]] for key, question in questions.items()},
            "requestState": reply.result["requestState"],
        }
    raise AssertionError("it asks for ever")


async def ask(client: Client, tool: str, answers: dict[str, Object] | None = None) -> tuple[Reply, list[Object]]:
    return await answered(client, "tools/call", {"name": tool, "arguments": {}}, answers)


@ASKING
@pytest.mark.requirement("mcp:elicitation:form")
async def test_a_tool_asks_the_person_and_goes_on_with_the_answer(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, asked = await ask(client, "ask_person")
    assert reply.text == "Hello Ada"
    (question,) = asked
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Who are you?"
    schema = question["params"]["requestedSchema"]
    assert schema["properties"]["name"]["type"] == "string"
    assert schema["required"] == ["name"]


@ASKING
@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.requirement("mcp:elicitation:declined")
async def test_a_person_may_decline(connect: Connect, action: str) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, _ = await ask(client, "ask_person", {"elicitation/create": {"action": action}})
    assert reply.text == action


@ASKING
@pytest.mark.requirement("mcp:sampling:asked")
async def test_a_tool_asks_the_clients_model(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, asked = await ask(client, "ask_model")
    assert reply.text == "It said moo"
    params = asked[0]["params"]
    assert params["maxTokens"] == 20
    assert params["systemPrompt"] == "Be short."
    assert params["messages"] == [{"role": "user", "content": {"type": "text", "text": "Say something."}}]


@ASKING
@pytest.mark.requirement("mcp:roots:asked")
async def test_a_tool_asks_where_the_client_works(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, asked = await ask(client, "ask_roots")
    assert reply.text == "file:///home/ada"
    assert asked[0]["method"] == "roots/list"


@ASKING
@pytest.mark.requirement("mcp:asking:several-at-once")
async def test_several_questions_are_put_at_once(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, asked = await ask(client, "ask_all")
    assert reply.text == "Ada moo 1"
    assert {question["method"] for question in asked} == set(ANSWERS)
    assert len(asked) == 3


@ASKING
@pytest.mark.requirement("mcp:asking:rounds")
async def test_a_second_question_may_depend_on_the_first_answer(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, asked = await ask(client, "ask_twice")
    assert reply.text == "Ada likes red"
    assert [question["params"]["message"] for question in asked] == ["Who are you?", "Which color, Ada?"]


@ASKING
@pytest.mark.requirement("mcp:asking:prompts")
async def test_a_prompt_may_ask_too(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, _ = await answered(client, "prompts/get", {"name": "introduction"})
    assert reply.result["messages"][0]["content"]["text"] == "I am Ada."


@ASKING
@pytest.mark.parametrize(
    ("tool", "capability"), [("ask_person", "elicitation"), ("ask_model", "sampling"), ("ask_roots", "roots")]
)
@pytest.mark.requirement("mcp:asking:capability-needed", "mcp:2026:missing-capability")
async def test_a_client_that_never_said_it_can_is_not_asked(
    connect: Connect, wire: Wire, tool: str, capability: str
) -> None:
    others = {name: value for name, value in ALL_CAPABILITIES.items() if name != capability}
    client = await connect(capabilities=others)
    reply = await client.call(tool)
    assert reply.said == []
    if wire.modern:
        assert reply.error["code"] == -32021
        assert reply.error["data"]["requiredCapabilities"] == {capability: {}}
        if reply.http is not None:
            assert reply.http.status == 400
    else:
        assert reply.result["isError"] is True
        assert repr(capability) in reply.text


@pytest.mark.parametrize("wire", [STATELESS], ids=wire_name)
@pytest.mark.requirement("mcp:asking:capability-needed")
async def test_without_a_session_nobody_can_be_asked(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply = await client.call("ask_person")
    assert reply.result["isError"] is True


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
@pytest.mark.parametrize("wire", [SESSION], ids=wire_name)
@pytest.mark.requirement("mcp:revisions:elicitation")
async def test_a_revision_without_elicitation_is_never_asked_for_it(connect: Connect, revision: str) -> None:
    client = await connect(Wire("session", revision), ALL_CAPABILITIES)
    reply = await client.call("ask_person")
    assert reply.said == []
    assert reply.result["isError"] is True


@pytest.mark.parametrize("wire", [SESSION, MEMORY, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:elicitation:url")
async def test_a_person_may_be_asked_to_open_a_page(connect: Connect) -> None:
    client = await connect(capabilities={"elicitation": {"form": {}, "url": {}}})
    reply, asked = await ask(client, "ask_login", {"elicitation/create": {"action": "accept"}})
    assert reply.text == "accept"
    assert asked[0]["params"]["mode"] == "url"
    assert asked[0]["params"]["url"] == "https://login.example/"
    assert asked[0]["params"]["elicitationId"] == "login-1"


@pytest.mark.parametrize(
    ("wire", "capabilities"),
    [
        (Wire("session", "2025-06-18"), {"elicitation": {}}),
        (SESSION, {"elicitation": {}}),
        (SESSION, {"elicitation": {"form": {}}}),
        (HTTP_MODERN, {"elicitation": {"form": {}}}),
    ],
)
@pytest.mark.requirement("mcp:elicitation:url-capability")
async def test_a_client_that_can_only_draw_forms_is_not_sent_to_a_page(
    connect: Connect, wire: Wire, capabilities: Object
) -> None:
    client = await connect(capabilities=capabilities)
    reply = await client.call("ask_login")
    assert reply.said == []
    if wire.modern:
        assert reply.error["code"] == -32021
        assert reply.error["data"]["requiredCapabilities"] == {"elicitation": {"url": {}}}
    else:
        assert reply.result["isError"] is True


@LEGACY_WIRES
@pytest.mark.requirement("mcp:asking:client-refuses")
async def test_a_client_that_answers_with_an_error_ends_the_call_in_words(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    exchange = await client.open_call("ask_model")
    question = await exchange.wait_for("sampling/createMessage")
    await client.respond_error(question["id"], -1, "the user said no")
    reply = await exchange.reply()
    assert reply.result["isError"] is True
    assert "the user said no" in reply.text


@LEGACY_WIRES
@pytest.mark.parametrize("answer", [{}, {"action": "perhaps"}, {"action": "accept", "content": {"name": 7}}])
@pytest.mark.requirement("mcp:asking:bad-answer")
async def test_an_answer_that_is_none_ends_a_legacy_call_in_words(connect: Connect, answer: Object) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    reply, _ = await ask(client, "ask_person", {"elicitation/create": answer})
    assert reply.result["isError"] is True


@MODERN_WIRES
@pytest.mark.parametrize(
    "responses",
    [None, {}, {"wrong_key": {"action": "accept"}}, {"person": 12345}, {"person": None}, {"person": {"action": "x"}}],
)
@pytest.mark.requirement("mcp:2026:ask-again")
async def test_a_wrong_or_missing_answer_is_asked_for_again(connect: Connect, responses: Any) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    params = {"name": "ask_person", "arguments": {}, "inputResponses": responses}
    result = (await client.request("tools/call", params)).result
    assert result["resultType"] == "input_required"
    assert result["inputRequests"].keys() == {"person"}
    assert result.keys().isdisjoint({"ttlMs", "cacheScope", "content"})


@MODERN_WIRES
@pytest.mark.requirement("mcp:2026:answers-without-state")
async def test_answers_given_at_once_with_others_nobody_asked_for_are_enough(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    answers = {"person": ANSWERS["elicitation/create"], "extra": {"a": 1}, "more": 7}
    params = {"name": "ask_person", "arguments": {}, "inputResponses": answers}
    assert (await client.request("tools/call", params)).text == "Hello Ada"


@MODERN_WIRES
@pytest.mark.requirement("mcp:2026:partial-answers")
async def test_what_was_answered_is_kept_and_only_the_rest_is_asked_again(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    call = {"name": "ask_all", "arguments": {}}
    first = (await client.request("tools/call", call)).result
    one = {"inputResponses": {"person": ANSWERS["elicitation/create"]}, "requestState": first["requestState"]}
    second = (await client.request("tools/call", {**call, **one})).result
    assert second["inputRequests"].keys() == {"model", "roots"}
    assert second["requestState"] != first["requestState"]
    rest = {"model": ANSWERS["sampling/createMessage"], "roots": ANSWERS["roots/list"]}
    two = {"inputResponses": rest, "requestState": second["requestState"]}
    assert (await client.request("tools/call", {**call, **two})).text == "Ada moo 1"


async def state_of(client: Client, tool: str = "ask_twice", arguments: Object | None = None) -> str:
    return (await client.request("tools/call", {"name": tool, "arguments": arguments or {}})).result["requestState"]


@MODERN_WIRES
@pytest.mark.parametrize("change", ["append", "cut", "flip", "foreign", "empty"])
@pytest.mark.requirement("mcp:2026:state-sealed")
async def test_a_changed_state_is_refused(connect: Connect, change: str) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    state = await state_of(client)
    broken = {
        "append": state + "-TAMPERED",
        "cut": state[:-4],
        "flip": state[:20] + ("A" if state[20] != "A" else "B") + state[21:],
        "foreign": "Zm9yZWlnbg==",
        "empty": "",
    }[change]
    reply = await client.request("tools/call", {"name": "ask_twice", "arguments": {}, "requestState": broken})
    assert reply.error["code"] == -32602
    assert "requestState" in reply.error["message"]


@MODERN_WIRES
@pytest.mark.requirement("mcp:2026:state-bound")
async def test_a_state_fits_no_other_request(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    state = await state_of(client, "ask_twice")
    other = await client.request("tools/call", {"name": "ask_person", "arguments": {}, "requestState": state})
    assert other.error["code"] == -32602
    prompt = await client.request("prompts/get", {"name": "introduction", "requestState": state})
    assert prompt.error["code"] == -32602


@pytest.mark.requirement("mcp:2026:state-bound", "access:key:acts-as-owner")
async def test_a_state_fits_every_key_of_its_user_and_no_other_principal(make_app: AppMaker) -> None:
    app = await make_app(auth="required")
    await app.users.add("ada", "correct horse battery", role="reader")
    keys = [await app.api_keys.create("key", scopes=["*:read"], owner=owner) for owner in ("ada", "ada", None)]
    one, second, other = [
        await connect_http(app, HTTP_MODERN, ALL_CAPABILITIES, authorization=f"Bearer {made.token}") for made in keys
    ]
    state = await state_of(one)
    params = {"name": "ask_twice", "arguments": {}, "requestState": state}
    assert (await other.request("tools/call", params)).error["code"] == -32602
    for own in (one, second):
        assert (await own.request("tools/call", params)).result["resultType"] == "input_required"
    for client in (one, second, other):
        await client.close()


@LEGACY_WIRES
@pytest.mark.requirement("mcp:asking:unasked-answer")
async def test_an_answer_nobody_asked_for_changes_nothing(connect: Connect) -> None:
    client = await connect(capabilities=ALL_CAPABILITIES)
    message = {"jsonrpc": "2.0", "id": "never-asked", "result": {}}
    if isinstance(client, HttpClient):
        answer = client.post(message)
        assert (await answer.json())["error"]["code"] == -32600
        assert answer.status == 400
    else:
        assert isinstance(client, ConnectionClient)
        pong = b'{"jsonrpc":"2.0","id":"after","method":"ping"}'
        await client._write(json.dumps(message).encode())
        said = await client.send_raw(pong)
        assert said["id"] == "after"
