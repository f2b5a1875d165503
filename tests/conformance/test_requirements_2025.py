"""The revisions with a handshake, seen from outside: what the scenarios of the 2025-11-25 set and their kin ask.

The official suite runs by `python -m tests.conformance.run`; these tests need no foreign program.
"""

import json
from typing import Any

import pytest

from tests.conformance.wire import LEGACY, Modern, Session, Wire, content_headers

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ABLE = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"}


@pytest.fixture
def session(wire: Wire) -> Session:
    return Session.start(wire)


@pytest.fixture
def able_session(wire: Wire) -> Session:
    return Session.start(wire, capabilities=ABLE)


def texts(result: dict[str, Any]) -> str:
    return " ".join(block.get("text", "") for block in result["content"])


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"])
def test_methods_without_an_answer_give_an_empty_result(session: Session, method: str) -> None:
    params = {
        "logging/setLevel": {"level": "info"},
        "resources/subscribe": {"uri": "test://watched-resource"},
        "resources/unsubscribe": {"uri": "test://watched-resource"},
    }
    assert session.call(method, params.get(method)).result == {}


def test_an_unknown_log_level_is_invalid(session: Session) -> None:
    assert session.call("logging/setLevel", {"level": "loud"}).code == -32602


@pytest.mark.parametrize("version", REVISIONS)
def test_modern_words_stay_out_of_older_conversations(wire: Wire, version: str) -> None:
    session = Session.start(wire, version)
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        result = session.call(method).result
        assert not {"resultType", "ttlMs", "cacheScope"} & result.keys()
    assert session.call("server/discover").code == -32601
    assert session.call("subscriptions/listen", {"notifications": {}}).code == -32601


@pytest.mark.parametrize(
    ("version", "shown"),
    [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True)],
)
def test_structured_content_is_shown_only_where_it_is_known(wire: Wire, version: str, shown: bool) -> None:
    session = Session.start(wire, version)
    assert ("structuredContent" in session.tool("test_echo", {"text": "x"}).result) is shown
    listed = next(tool for tool in session.call("tools/list").result["tools"] if tool["name"] == "test_echo")
    assert ("outputSchema" in listed) is shown


@pytest.mark.parametrize(
    ("version", "kind"), [("2024-11-05", "resource"), ("2025-03-26", "audio"), ("2025-11-25", "audio")]
)
def test_sound_is_said_in_words_the_revision_knows(wire: Wire, version: str, kind: str) -> None:
    assert Session.start(wire, version).tool("test_audio_content").result["content"][0]["type"] == kind


@pytest.mark.parametrize(("version", "kind"), [("2025-03-26", "text"), ("2025-06-18", "resource_link")])
def test_a_link_is_said_in_words_the_revision_knows(wire: Wire, version: str, kind: str) -> None:
    assert Session.start(wire, version).tool("test_resource_link").result["content"][0]["type"] == kind


def test_a_log_level_opens_the_log_for_the_session(session: Session) -> None:
    assert session.call("logging/setLevel", {"level": "debug"}).result == {}
    notes = session.tool("test_tool_with_logging").notifications
    assert [(note["method"], note["params"]["level"]) for note in notes] == [("notifications/message", "info")] * 3


def test_progress_comes_in_order_for_the_token_that_was_given(session: Session) -> None:
    answer = session.tool("test_tool_with_progress", meta={"progressToken": "progress-test-1"})
    assert [note["params"]["progress"] for note in answer.notifications] == [0, 50, 100]
    assert {note["params"]["progressToken"] for note in answer.notifications} == {"progress-test-1"}


def test_without_a_token_no_progress_is_reported(session: Session) -> None:
    assert session.tool("test_tool_with_progress").notifications == []


@pytest.mark.parametrize("token", [0, 7, "seven"])
def test_the_progress_token_comes_back_as_it_was(session: Session, token: Any) -> None:
    notes = session.tool("test_tool_with_progress", meta={"progressToken": token}).notifications
    assert [note["params"]["progressToken"] for note in notes] == [token] * 3


def test_the_model_of_the_client_is_asked_over_the_stream(able_session: Session) -> None:
    params = {"name": "test_sampling", "arguments": {"prompt": "Capital of France?"}}
    with able_session.open("tools/call", params, request_id="s") as stream:
        asked = stream.wait_for("sampling/createMessage")
        assert asked["params"]["maxTokens"] == 100
        assert able_session.respond(asked["id"], SAID).status == 202
        final = stream.next_message()
    assert (final["id"], texts(final["result"])) == ("s", "LLM response: Paris")


def test_the_person_is_asked_over_the_stream(able_session: Session) -> None:
    params = {"name": "test_elicitation", "arguments": {"message": "Who are you?"}}
    with able_session.open("tools/call", params) as stream:
        asked = stream.wait_for("elicitation/create")
        assert asked["params"]["message"] == "Who are you?"
        assert set(asked["params"]["requestedSchema"]["required"]) == {"username", "email"}
        able_session.respond(asked["id"], {"action": "accept", "content": {"username": "ada", "email": "a@b.example"}})
        assert "ada" in texts(stream.next_message()["result"])


def test_a_second_question_waits_for_the_first_answer(able_session: Session) -> None:
    with able_session.open("tools/call", {"name": "test_input_required_result_multi_round"}) as stream:
        first = stream.wait_for("elicitation/create")
        able_session.respond(first["id"], {"action": "accept", "content": {"name": "Ada"}})
        second = stream.wait_for("elicitation/create")
        assert second["id"] != first["id"]
        able_session.respond(second["id"], {"action": "accept", "content": {"color": "blue"}})
        assert texts(stream.next_message()["result"]) == "Ada likes blue"


def test_an_answer_of_another_session_counts_for_nothing(wire: Wire, able_session: Session) -> None:
    stranger = Session.start(wire, capabilities=ABLE)
    params = {"name": "test_elicitation", "arguments": {"message": "Who are you?"}}
    with able_session.open("tools/call", params) as stream:
        asked = stream.wait_for("elicitation/create")
        stranger.respond(asked["id"], {"action": "accept", "content": {"username": "eve", "email": "e@v.example"}})
        able_session.respond(asked["id"], {"action": "decline"})
        assert "action=decline" in texts(stream.next_message()["result"])


def test_an_error_as_an_answer_ends_the_call_with_an_error(able_session: Session) -> None:
    params = {"name": "test_sampling", "arguments": {"prompt": "?"}}
    with able_session.open("tools/call", params) as stream:
        asked = stream.wait_for("sampling/createMessage")
        refusal = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "User rejected"}}
        able_session.wire.send(json.dumps(refusal).encode(), able_session.headers())
        final = stream.next_message()
    assert "error" in final or final["result"]["isError"] is True


@pytest.mark.parametrize("tool", ["test_sampling", "test_elicitation"])
def test_a_question_the_client_cannot_answer_is_an_error(session: Session, tool: str) -> None:
    arguments = {"prompt": "?"} if tool == "test_sampling" else {"message": "?"}
    final = session.tool(tool, arguments).final
    assert "error" in final or final["result"]["isError"] is True


def test_wrong_arguments_are_a_result_the_model_can_read(session: Session) -> None:
    result = session.tool("test_add", {"a": "one", "b": 2}).result
    assert result["isError"] is True


def test_a_failing_tool_says_so_in_its_result(session: Session) -> None:
    result = session.tool("test_error_handling").result
    assert result["isError"] is True
    assert result["content"][0]["text"]


def test_arguments_may_be_left_out(session: Session) -> None:
    assert texts(session.call("tools/call", {"name": "test_simple_text"}).result)


def test_an_unknown_resource_has_the_old_code(session: Session) -> None:
    answer = session.call("resources/read", {"uri": "test://nowhere"})
    assert (answer.code, answer.error["data"]["uri"]) == (-32002, "test://nowhere")


def test_an_unknown_tool_is_a_protocol_error(session: Session) -> None:
    assert session.tool("test_no_such_tool").code == -32602


def test_an_unknown_method_is_not_found(session: Session) -> None:
    answer = session.call("unknown/method", request_id="u")
    assert (answer.code, answer.final["id"]) == (-32601, "u")


def test_resources_are_read_as_text_bytes_and_by_template(session: Session) -> None:
    text = session.call("resources/read", {"uri": "test://static-text"}).result["contents"][0]
    picture = session.call("resources/read", {"uri": "test://static-binary"}).result["contents"][0]
    data = session.call("resources/read", {"uri": "test://template/123/data"}).result["contents"][0]
    assert (text["mimeType"], text["uri"]) == ("text/plain", "test://static-text")
    assert picture["mimeType"] == "image/png"
    assert picture["blob"]
    assert json.loads(data["text"])["id"] == "123"


def test_a_prompt_with_arguments_shows_them(session: Session) -> None:
    params = {"name": "test_prompt_with_arguments", "arguments": {"arg1": "one", "arg2": "two"}}
    said = session.call("prompts/get", params).result["messages"][0]["content"]["text"]
    assert "one" in said
    assert "two" in said


def test_a_prompt_without_its_arguments_is_invalid(session: Session) -> None:
    assert session.call("prompts/get", {"name": "test_prompt_with_arguments"}).code == -32602


def test_the_listed_schema_is_the_declared_one(session: Session) -> None:
    tools = {tool["name"]: tool for tool in session.call("tools/list").result["tools"]}
    schema = tools["json_schema_2020_12_tool"]["inputSchema"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$defs"]["address"]["$anchor"] == "addressDef"
    assert schema["properties"]["address"] == {"$ref": "#/$defs/address"}
    assert schema["allOf"][0]["anyOf"] == [{"required": ["phone"]}, {"required": ["email"]}]
    assert schema["if"]["properties"]["contactMethod"] == {"const": "phone"}
    assert (schema["then"], schema["else"]) == ({"required": ["phone"]}, {"required": ["email"]})
    assert schema["additionalProperties"] is False


def test_a_batch_is_answered_where_batches_existed(wire: Wire) -> None:
    session = Session.start(wire, "2025-03-26")
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "id": "two", "method": "unknown/method"},
    ]
    answer = wire.send(json.dumps(messages).encode(), session.headers())
    said: list[Any] = []
    for message in answer.messages:
        said += message if isinstance(message, list) else [message]
    by_id = {message["id"]: message for message in said}
    assert by_id[1]["result"] == {}
    assert by_id["two"]["error"]["code"] == -32601
    assert len(said) == 2


def test_a_batch_of_notifications_is_accepted_without_a_body(wire: Wire) -> None:
    session = Session.start(wire, "2025-03-26")
    messages = [{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}] * 2
    answer = wire.send(json.dumps(messages).encode(), session.headers())
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_where_batches_were_removed(wire: Wire, version: str) -> None:
    session = Session.start(wire, version)
    messages = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    answer = wire.send(json.dumps(messages).encode(), session.headers())
    assert (answer.status, answer.code) == (400, -32600)


def test_both_eras_are_served_side_by_side(session: Session, modern: Modern) -> None:
    assert session.call("ping").result == {}
    assert modern.call("server/discover").status == 200
    assert session.call("ping").result == {}


@pytest.mark.parametrize("header", [None, LEGACY])
def test_a_handshake_needs_no_version_header(wire: Wire, header: str | None) -> None:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    answer = wire.send(body, {**content_headers(), "MCP-Protocol-Version": header})
    assert answer.result["protocolVersion"] == LEGACY
