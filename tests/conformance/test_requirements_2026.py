"""Revision 2026-07-28 seen from outside: the probes of the conformance scenario `server-stateless`, caching, content.

The suite that scores this revision cannot be fetched everywhere; these tests ask what it asks.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.conformance.server import Served
from tests.conformance.wire import MODERN, PREFIX, Answer, Modern, Object, Wire

VERSION = PREFIX + "protocolVersion"
CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT = PREFIX + "clientInfo"
SERVER = PREFIX + "serverInfo"
SUBSCRIPTION = PREFIX + "subscriptionId"
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def test_a_request_without_meta_is_invalid(modern: Modern) -> None:
    body: Object = {"jsonrpc": "2.0", "id": "no-meta", "method": "server/discover", "params": {}}
    answer = modern.wire.send(json.dumps(body).encode(), modern.headers(body))
    assert (answer.status, answer.code, answer.final["id"]) == (400, -32602, "no-meta")


def test_a_request_without_params_is_invalid(modern: Modern) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    answer = modern.wire.send(json.dumps(body).encode(), modern.headers(body))
    assert (answer.status, answer.code) == (400, -32602)


@pytest.mark.parametrize("key", [VERSION, CAPABILITIES])
def test_a_required_meta_key_must_be_there(modern: Modern, key: str) -> None:
    answer = modern.call("server/discover", meta={key: None}, request_id=77)
    assert (answer.status, answer.code, answer.final["id"]) == (400, -32602, 77)


@pytest.mark.parametrize("value", ["all", [], 5, True])
def test_the_capabilities_must_be_an_object(modern: Modern, value: Any) -> None:
    answer = modern.call("server/discover", meta={CAPABILITIES: value})
    assert (answer.status, answer.code) == (400, -32602)


@pytest.mark.parametrize("value", [5, [], {}, True])
def test_a_version_that_is_no_text_is_refused(modern: Modern, value: Any) -> None:
    answer = modern.call("server/discover", meta={VERSION: value})
    assert answer.status == 400
    assert answer.code in (-32602, -32020)


def test_a_client_may_keep_its_name_to_itself(modern: Modern) -> None:
    assert modern.call("server/discover", meta={CLIENT: None}).status == 200


def test_discovery_names_versions_capabilities_and_the_server(modern: Modern) -> None:
    result = modern.call("server/discover").result
    assert MODERN in result["supportedVersions"]
    assert {"tools", "prompts", "resources"} <= result["capabilities"].keys()
    assert {"name", "version"} <= result["_meta"][SERVER].keys()
    assert result["resultType"] == "complete"


@pytest.mark.parametrize("method", ["server/discover", *LISTS])
def test_every_result_says_who_gave_it_and_that_it_is_complete(modern: Modern, method: str) -> None:
    result = modern.call(method).result
    assert result["resultType"] == "complete"
    assert result["_meta"][SERVER]["name"]


@pytest.mark.parametrize("method", ["server/discover", *LISTS])
def test_lists_say_how_long_they_may_be_kept(modern: Modern, method: str) -> None:
    result = modern.call(method).result
    assert type(result["ttlMs"]) is int
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] in ("public", "private")


def test_the_first_resource_says_how_long_it_may_be_kept(modern: Modern) -> None:
    first = modern.call("resources/list").result["resources"][0]["uri"]
    result = modern.call("resources/read", {"uri": first}).result
    assert type(result["ttlMs"]) is int
    assert result["cacheScope"] in ("public", "private")


def test_all_pages_of_a_list_have_the_same_scope_and_show_everything_once(modern: Modern) -> None:
    scopes: set[str] = set()
    uris: list[str] = []
    params: dict[str, Any] = {}
    while True:
        page = modern.call("resources/list", params).result
        scopes.add(page["cacheScope"])
        uris += [entry["uri"] for entry in page["resources"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert len(scopes) == 1
    assert len(uris) == len(set(uris))
    assert {"test://static-text", "test://numbered/0", "test://numbered/4"} <= set(uris)


@pytest.mark.parametrize("cursor", ["", "nonsense", "bm9uc2Vuc2U=", "\u00fc", "W10="])
def test_a_cursor_that_is_none_of_the_lists_own_is_invalid(modern: Modern, cursor: str) -> None:
    answer = modern.call("tools/list", {"cursor": cursor})
    assert (answer.status, answer.code) == (400, -32602)


def test_an_unknown_version_is_answered_with_the_known_ones(modern: Modern) -> None:
    answer = modern.call(
        "server/discover", meta={VERSION: "v999.0.0"}, headers={"MCP-Protocol-Version": "v999.0.0"}, request_id="v"
    )
    known = modern.call("server/discover").result["supportedVersions"]
    assert (answer.status, answer.code, answer.final["id"]) == (400, -32022, "v")
    assert answer.error["data"]["requested"] == "v999.0.0"
    assert answer.error["data"]["supported"]
    assert set(answer.error["data"]["supported"]) <= set(known)


def test_a_version_that_differs_between_header_and_body_is_a_mismatch(modern: Modern) -> None:
    answer = modern.call("server/discover", meta={VERSION: "v999.0.0"}, request_id=5)
    assert (answer.status, answer.code, answer.final["id"]) == (400, -32020, 5)


def test_a_missing_capability_is_named_as_an_object(modern: Modern) -> None:
    answer = modern.tool("test_missing_capability")
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"]["requiredCapabilities"] == {"sampling": {}}


@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method"],
)
def test_removed_and_unknown_methods_are_not_found(modern: Modern, method: str) -> None:
    answer = modern.call(method, {"protocolVersion": MODERN, "uri": "test://static-text"}, request_id="gone")
    assert (answer.status, answer.code, answer.final["id"]) == (404, -32601, "gone")


def test_a_tool_that_elicits_sends_no_request_of_its_own(wire: Wire) -> None:
    client = Modern(wire, {"elicitation": {}})
    answer = client.call("tools/call", {"name": "test_streaming_elicitation"}, meta={"progressToken": "p"})
    assert answer.requests == []
    assert answer.result["resultType"] == "input_required"
    assert [note["method"] for note in answer.notifications] == ["notifications/progress"]


def test_without_a_log_level_nothing_is_logged(modern: Modern) -> None:
    answer = modern.tool("test_logging_tool")
    assert answer.notifications == []
    assert answer.result["content"]


@pytest.mark.parametrize(("level", "lines"), [("debug", 1), ("info", 1), ("warning", 0)])
def test_a_log_level_opens_the_log_from_that_level_on(modern: Modern, level: str, lines: int) -> None:
    answer = modern.call("tools/call", {"name": "test_logging_tool"}, meta={PREFIX + "logLevel": level})
    assert [note["method"] for note in answer.notifications] == ["notifications/message"] * lines


def test_progress_comes_in_order_for_the_token_that_was_given(modern: Modern) -> None:
    meta = {"progressToken": "progress-test-1"}
    answer = modern.call("tools/call", {"name": "test_tool_with_progress", "arguments": {}}, meta=meta)
    steps = [note["params"] for note in answer.notifications]
    assert [(step["progressToken"], step["progress"], step["total"]) for step in steps] == [
        ("progress-test-1", 0, 100),
        ("progress-test-1", 50, 100),
        ("progress-test-1", 100, 100),
    ]
    assert answer.headers["x-accel-buffering"] == "no"


def test_a_listener_is_acknowledged_first_and_hears_what_it_asked_for(modern: Modern) -> None:
    wanted = {"notifications": {"toolsListChanged": True}}
    with modern.open("subscriptions/listen", wanted, request_id="listen-1") as stream:
        first = stream.next_message()
        modern.tool("test_trigger_tool_change")
        heard = stream.next_message()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert [kind for kind, granted in first["params"]["notifications"].items() if granted] == ["toolsListChanged"]
    assert heard["method"] == "notifications/tools/list_changed"
    assert {note["params"]["_meta"][SUBSCRIPTION] for note in (first, heard)} == {"listen-1"}


def test_a_listener_hears_nothing_it_did_not_ask_for(modern: Modern) -> None:
    wanted = {"notifications": {"promptsListChanged": True}}
    with modern.open("subscriptions/listen", wanted, request_id=9) as stream:
        assert stream.next_message()["params"]["_meta"][SUBSCRIPTION] == 9
        modern.tool("test_trigger_tool_change")
        modern.tool("test_trigger_resource_update")
        modern.tool("test_trigger_prompt_change")
        assert stream.next_message()["method"] == "notifications/prompts/list_changed"


def test_a_listener_hears_of_the_resource_it_named(modern: Modern) -> None:
    wanted = {"notifications": {"resourceSubscriptions": ["test://watched-resource"]}}
    with modern.open("subscriptions/listen", wanted, request_id=1) as stream:
        acknowledged = stream.next_message()
        assert acknowledged["params"]["notifications"]["resourceSubscriptions"] == ["test://watched-resource"]
        modern.tool("test_trigger_resource_change")
        modern.tool("test_trigger_resource_update")
        heard = stream.next_message()
    assert heard["method"] == "notifications/resources/updated"
    assert heard["params"]["uri"] == "test://watched-resource"


def test_every_listed_tool_has_a_plain_name_a_description_and_a_schema(modern: Modern) -> None:
    tools = modern.call("tools/list").result["tools"]
    for tool in tools:
        assert 1 <= len(tool["name"]) <= 64
        assert set(tool["name"]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
    assert "test_missing_capability" in {tool["name"] for tool in tools}


def test_lists_come_in_the_same_order_every_time(modern: Modern) -> None:
    first, again = modern.call("tools/list").result, modern.call("tools/list").result
    assert [tool["name"] for tool in first["tools"]] == [tool["name"] for tool in again["tools"]]


def test_an_unknown_resource_is_named_in_the_error(modern: Modern) -> None:
    uri = "test://nonexistent-resource-for-conformance-testing"
    answer = modern.call("resources/read", {"uri": uri})
    assert (answer.status, answer.code, answer.error["data"]["uri"]) == (400, -32602, uri)


def test_an_unknown_tool_is_a_protocol_error(modern: Modern) -> None:
    assert modern.tool("test_no_such_tool").code == -32602


def test_an_unknown_prompt_is_a_protocol_error(modern: Modern) -> None:
    assert modern.call("prompts/get", {"name": "test_no_such_prompt"}).code == -32602


def test_wrong_arguments_are_a_result_the_model_can_read(modern: Modern) -> None:
    answer = modern.tool("test_add", {"a": "one", "b": 2})
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert "'a'" in answer.result["content"][0]["text"]


def test_a_broken_tool_shows_no_insides(modern: Modern, served: Served) -> None:
    answer = modern.tool("test_crash")
    assert answer.result["isError"] is True
    assert b"canary-4711" not in answer.body
    assert b"Traceback" not in answer.body
    assert "canary-4711" in served.logged()


@pytest.mark.parametrize("request_id", [0, -1, 2**53, "", "a", "\u00fc\U0001f600", "1"])
def test_the_request_id_comes_back_as_it_was(modern: Modern, request_id: Any) -> None:
    returned = modern.call("tools/list", request_id=request_id).final["id"]
    assert (type(returned), returned) == (type(request_id), request_id)


@pytest.mark.parametrize("request_id", [None, 1.5, True, [1], {"a": 1}])
def test_an_id_that_is_neither_text_nor_integer_is_invalid(modern: Modern, request_id: Any) -> None:
    answer = modern.call("tools/list", request_id=request_id)
    assert (answer.status, answer.code) == (400, -32600)


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH"])
def test_other_verbs_are_not_allowed(modern: Modern, verb: str) -> None:
    answer = modern.wire.send(None, {"MCP-Protocol-Version": MODERN, "Accept": "text/event-stream"}, verb=verb)
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]


def test_no_session_is_made_or_echoed(modern: Modern) -> None:
    answer = modern.call("tools/list", headers={"Mcp-Session-Id": "made-up", "Last-Event-ID": "1"})
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers


def test_a_notification_is_accepted_without_a_body(modern: Modern) -> None:
    body = modern.body("notifications/cancelled", {"requestId": 1})
    del body["id"]
    answer = modern.wire.send(json.dumps(body).encode(), modern.headers(body))
    assert (answer.status, answer.body) == (202, b"")


def test_a_batch_is_refused(modern: Modern) -> None:
    body = modern.body("tools/list")
    answer = modern.wire.send(json.dumps([body, body]).encode(), modern.headers(body))
    assert (answer.status, answer.code) == (400, -32600)


def test_text_that_is_no_json_is_a_parse_error(modern: Modern) -> None:
    answer = modern.wire.send(b'{"jsonrpc": "2.0", ', {**modern.headers({"method": "tools/list"})})
    assert (answer.status, answer.code) == (400, -32700)


@pytest.mark.parametrize("spoiled", [b"\x80", b"\xff", b"\xed\xa0\x80", b"\xc3"])
def test_text_that_is_no_utf_8_is_a_parse_error_wherever_it_stands(modern: Modern, spoiled: bytes) -> None:
    body = modern.body("tools/call", {"name": "test_echo", "arguments": {"text": "HERE"}})
    raw = json.dumps(body).encode().replace(b"HERE", spoiled)
    answer = modern.wire.send(raw, modern.headers(body))
    assert (answer.status, answer.code) == (400, -32700)


def test_concurrent_requests_are_answered_each_for_itself(modern: Modern) -> None:
    def listed(number: int) -> Answer:
        return modern.call("tools/list", request_id=f"stream-{number}")

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(listed, range(3)))
    assert [answer.final["id"] for answer in answers] == ["stream-0", "stream-1", "stream-2"]


def test_a_client_that_goes_away_cancels_its_call(modern: Modern) -> None:
    meta = {"progressToken": 1}
    with modern.open("tools/call", {"name": "test_hold", "arguments": {"key": "modern-gone"}}, meta=meta) as stream:
        assert stream.next_message()["method"] == "notifications/progress"
    assert modern.tool("test_held", {"key": "modern-gone"}).result["content"][0]["text"] == "cancelled"


def test_completion_offers_the_values_that_fit(modern: Modern) -> None:
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    answer = modern.call("completion/complete", {"ref": ref, "argument": {"name": "arg1", "value": "par"}})
    assert answer.result["completion"]["values"] == ["paris", "park", "party"]


def test_structured_content_comes_with_its_text(modern: Modern) -> None:
    result = modern.tool("test_echo", {"text": "hi"}).result
    assert result["structuredContent"] == {"text": "hi", "length": 2}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
