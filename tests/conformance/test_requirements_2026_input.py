"""Revision 2026-07-28: answers that ask back (`input_required`), as the conformance scenarios drive them."""

from typing import Any

import pytest

from tests.conformance.wire import Answer, Modern, Wire

PREFIX = "test_input_required_result_"
ADA = {"action": "accept", "content": {"name": "Ada"}}
YES = {"action": "accept", "content": {"ok": True}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"}
ROOTS = {"roots": [{"uri": "file:///home/ada", "name": "home"}]}


def first_round(client: Modern, name: str) -> dict[str, Any]:
    answer = client.tool(PREFIX + name)
    assert answer.status == 200
    assert answer.result["resultType"] == "input_required"
    assert "ttlMs" not in answer.result
    return answer.result


def again(client: Modern, name: str, asked: dict[str, Any], responses: dict[str, Any]) -> Answer:
    state = {"requestState": asked["requestState"]} if "requestState" in asked else {}
    return client.tool(PREFIX + name, inputResponses=responses, **state)


def completed(answer: Answer) -> str:
    assert answer.result["resultType"] == "complete", answer.result
    return answer.result["content"][0]["text"]


def test_a_question_to_the_person_is_asked_and_answered(able: Modern) -> None:
    asked = first_round(able, "elicitation")
    question = asked["inputRequests"]["user_name"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["requestedSchema"]["properties"]["name"]["type"] == "string"
    assert question["params"]["requestedSchema"]["required"] == ["name"]
    assert completed(again(able, "elicitation", asked, {"user_name": ADA})) == "Hello, Ada!"


def test_a_question_to_the_model_is_asked_and_answered(able: Modern) -> None:
    asked = first_round(able, "sampling")
    question = asked["inputRequests"]["capital_question"]
    assert question["method"] == "sampling/createMessage"
    assert question["params"]["maxTokens"] == 100
    assert [message["role"] for message in question["params"]["messages"]] == ["user"]
    assert "Paris" in completed(again(able, "sampling", asked, {"capital_question": SAID}))


def test_the_roots_are_asked_for_and_answered(able: Modern) -> None:
    asked = first_round(able, "list_roots")
    assert asked["inputRequests"] == {"client_roots": {"method": "roots/list", "params": {}}}
    assert "file:///home/ada" in completed(again(able, "list_roots", asked, {"client_roots": ROOTS}))


def test_state_comes_back_to_the_tool(able: Modern) -> None:
    asked = first_round(able, "request_state")
    assert isinstance(asked["requestState"], str)
    assert "state-ok" in completed(again(able, "request_state", asked, {"confirm": YES}))


def test_several_questions_are_asked_at_once(able: Modern) -> None:
    asked = first_round(able, "multiple_inputs")
    methods = {key: question["method"] for key, question in asked["inputRequests"].items()}
    assert methods == {
        "user_name": "elicitation/create",
        "greeting": "sampling/createMessage",
        "client_roots": "roots/list",
    }
    assert asked["inputRequests"]["greeting"]["params"]["maxTokens"] == 50
    responses = {"user_name": ADA, "greeting": SAID, "client_roots": ROOTS}
    assert completed(again(able, "multiple_inputs", asked, responses)) == "Paris accept with 1 roots"


def test_answers_may_come_one_after_the_other(able: Modern) -> None:
    asked = first_round(able, "multiple_inputs")
    partly = again(able, "multiple_inputs", asked, {"user_name": ADA}).result
    assert partly["resultType"] == "input_required"
    assert set(partly["inputRequests"]) == {"greeting", "client_roots"}
    rest = {"greeting": SAID, "client_roots": ROOTS}
    assert completed(again(able, "multiple_inputs", partly, rest)) == "Paris accept with 1 roots"


def test_a_second_round_has_another_question_and_another_state(able: Modern) -> None:
    first = first_round(able, "multi_round")
    assert set(first["inputRequests"]) == {"step1"}
    second = again(able, "multi_round", first, {"step1": ADA}).result
    assert second["resultType"] == "input_required"
    assert set(second["inputRequests"]) == {"step2"}
    assert second["requestState"] != first["requestState"]
    colour = {"action": "accept", "content": {"color": "blue"}}
    assert completed(again(able, "multi_round", second, {"step2": colour})) == "Ada likes blue"


def test_a_missing_answer_is_asked_for_again(able: Modern) -> None:
    asked = first_round(able, "elicitation")
    result = again(able, "elicitation", asked, {"wrong_key": ADA}).result
    assert result["resultType"] == "input_required"
    assert set(result["inputRequests"]) == {"user_name"}


def test_answers_to_nothing_are_ignored_and_no_state_is_needed(able: Modern) -> None:
    responses = {"user_name": ADA, "unknown_1": ADA, "unknown_2": {"any": "thing"}}
    assert completed(able.tool(PREFIX + "elicitation", inputResponses=responses)) == "Hello, Ada!"


@pytest.mark.parametrize(
    "responses",
    [
        {"user_name": 12345},
        None,
        {"user_name": None},
        {"user_name": {"action": "perhaps"}},
        {"user_name": {"action": "accept", "content": {"name": 7}}},
        {"user_name": {"action": "accept"}},
        "user_name",
        [ADA],
    ],
)
def test_a_malformed_answer_never_completes_the_call(able: Modern, responses: Any) -> None:
    answer = able.tool(PREFIX + "elicitation", inputResponses=responses)
    assert "error" in answer.final or answer.result["resultType"] == "input_required", answer.final
    assert answer.status < 500


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_may_say_no(able: Modern, action: str) -> None:
    assert action in completed(able.tool(PREFIX + "elicitation", inputResponses={"user_name": {"action": action}}))


def test_a_prompt_may_ask_too(able: Modern) -> None:
    name = {"name": PREFIX + "prompt"}
    asked = able.call("prompts/get", name).result
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["user_context"]["method"] == "elicitation/create"
    given = {"user_context": {"action": "accept", "content": {"context": "a refactoring"}}}
    result = able.call("prompts/get", {**name, "inputResponses": given, "requestState": asked["requestState"]}).result
    assert result["resultType"] == "complete"
    assert "a refactoring" in result["messages"][0]["content"]["text"]


def test_a_resource_may_ask_too(able: Modern) -> None:
    uri = {"uri": "test://asking/whales"}
    asked = able.call("resources/read", uri).result
    assert asked["resultType"] == "input_required"
    given = {"reason": {"action": "accept", "content": {"reason": "I like them"}}}
    result = able.call("resources/read", {**uri, "inputResponses": given, "requestState": asked["requestState"]}).result
    assert result["contents"][0]["text"] == "whales, because I like them"


@pytest.mark.parametrize("suffix", ["-TAMPERED", "A", "=", " ", "%00"])
def test_a_state_with_something_appended_is_refused(able: Modern, suffix: str) -> None:
    asked = first_round(able, "tampered_state")
    answer = able.tool(
        PREFIX + "tampered_state", inputResponses={"confirm": YES}, requestState=asked["requestState"] + suffix
    )
    assert (answer.status, answer.code) == (400, -32602)


def test_a_state_with_one_character_changed_is_refused(able: Modern) -> None:
    state: str = first_round(able, "tampered_state")["requestState"]
    for position in range(0, len(state), max(1, len(state) // 25)):
        changed = state[:position] + ("A" if state[position] != "A" else "B") + state[position + 1 :]
        answer = able.tool(PREFIX + "tampered_state", inputResponses={"confirm": YES}, requestState=changed)
        assert answer.code == -32602, f"position {position} of {len(state)}"


def test_the_state_of_one_tool_is_worthless_to_another(able: Modern) -> None:
    state = first_round(able, "request_state")["requestState"]
    answer = able.tool(PREFIX + "tampered_state", inputResponses={"confirm": YES}, requestState=state)
    assert answer.code == -32602


@pytest.mark.parametrize("state", [5, {}, [], True])
def test_a_state_that_is_no_text_is_refused(able: Modern, state: Any) -> None:
    answer = able.tool(PREFIX + "request_state", inputResponses={"confirm": YES}, requestState=state)
    assert (answer.status, answer.code) == (400, -32602)


def test_only_what_the_client_can_answer_is_asked(wire: Wire) -> None:
    asked = first_round(Modern(wire, {"sampling": {}}), "capabilities")
    assert {question["method"] for question in asked["inputRequests"].values()} == {"sampling/createMessage"}


@pytest.mark.parametrize(
    ("name", "capability"), [("elicitation", "elicitation"), ("sampling", "sampling"), ("list_roots", "roots")]
)
def test_a_question_the_client_cannot_answer_names_the_capability(modern: Modern, name: str, capability: str) -> None:
    answer = modern.tool(PREFIX + name)
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"]["requiredCapabilities"] == {capability: {}}


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "server/discover"])
def test_other_methods_never_ask(able: Modern, method: str) -> None:
    assert able.call(method, {"inputResponses": {"x": ADA}}).result["resultType"] == "complete"


def test_the_defaults_and_choices_of_a_form_reach_the_client(able: Modern) -> None:
    asked = able.tool("test_elicitation_sep1034_defaults").result["inputRequests"]["defaults"]
    defaults = {name: field["default"] for name, field in asked["params"]["requestedSchema"]["properties"].items()}
    assert defaults == {"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": True}
    choices = able.tool("test_elicitation_sep1330_enums").result["inputRequests"]["choices"]
    shown = choices["params"]["requestedSchema"]["properties"]
    assert shown["titledSingle"]["oneOf"][0] == {"const": "value1", "title": "First Option"}
    assert shown["titledMulti"]["items"]["anyOf"][0] == {"const": "value1", "title": "First Choice"}
