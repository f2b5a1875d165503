"""Both eras over a pipe: one message a line, nothing else on the output, and a prompt end."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.pipe import Pipe
from tests.conformance.wire import LEGACY, MODERN, PREFIX

HOLD = {"name": "test_hold", "arguments": {"key": "piped"}}
HELD = {"name": "test_held", "arguments": {"key": "piped"}}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Pipe]:
    pipe = Pipe(tmp_path_factory.mktemp("data"))
    yield pipe
    status, _ = pipe.end()
    assert status == 0


@pytest.fixture
def own(tmp_path: Path) -> Generator[Pipe]:
    pipe = Pipe(tmp_path)
    yield pipe
    if pipe.process.poll() is None:
        pipe.end()


def test_the_end_of_the_input_ends_the_server(own: Pipe) -> None:
    own.handshake()
    status, rest = own.end()
    assert (status, rest) == (0, [])


def test_requests_that_were_heard_are_answered_before_the_end(own: Pipe) -> None:
    own.handshake()
    own.send("tools/call", {"name": "test_tool_with_logging", "arguments": {}}, 5)
    status, rest = own.end()
    assert status == 0
    assert len(rest) == 1
    assert b'"id":5' in rest[0]


@pytest.mark.parametrize("line", [b"hello", b'{"jsonrpc": "2.0", ', b"\xff\xfe", b"[" * 3000, b"{}", b"[]", b"5"])
def test_a_line_that_is_no_message_is_answered_and_survived(shared: Pipe, line: bytes) -> None:
    shared.write(line)
    refused = shared.next()
    assert refused["id"] is None
    assert refused["error"]["code"] in (-32700, -32600)
    shared.modern("server/discover", request_id="still there")
    assert shared.answer("still there")["result"]["supportedVersions"] == [MODERN]


def test_an_empty_line_is_passed_over(shared: Pipe) -> None:
    shared.write(b"")
    shared.modern("tools/list", request_id="after")
    assert shared.next()["id"] == "after"


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "unknown/method"])
def test_methods_the_modern_era_lacks_are_not_found(shared: Pipe, method: str) -> None:
    shared.modern(method, request_id=method)
    assert shared.answer(method)["error"]["code"] == -32601


def test_an_unknown_version_is_answered_with_the_known_ones(shared: Pipe) -> None:
    shared.modern("server/discover", request_id="v", meta={PREFIX + "protocolVersion": "v999.0.0"})
    error = shared.answer("v")["error"]
    assert (error["code"], error["data"]) == (-32022, {"supported": [MODERN], "requested": "v999.0.0"})


def test_both_eras_live_on_one_pipe(own: Pipe) -> None:
    own.modern("tools/list", request_id=1)
    assert own.answer(1)["result"]["resultType"] == "complete"
    assert own.handshake()["protocolVersion"] == LEGACY
    own.send("ping", {}, 2)
    assert own.answer(2)["result"] == {}
    own.modern("server/discover", request_id=3)
    assert own.answer(3)["result"]["supportedVersions"] == [MODERN]


@pytest.mark.parametrize("modern", [True, False])
def test_a_cancelled_call_is_stopped_and_not_answered(own: Pipe, modern: bool) -> None:
    if modern:
        own.modern("tools/call", HOLD, "held", {"progressToken": 1})
    else:
        own.handshake()
        own.send("tools/call", {**HOLD, "_meta": {"progressToken": 1}}, "held")
    assert own.next()["method"] == "notifications/progress"
    own.send("notifications/cancelled", {"requestId": "held"})
    own.modern("tools/call", HELD, "asked")
    answer = own.next()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == ("asked", "cancelled")


def test_a_slow_call_does_not_hold_up_a_quick_one(shared: Pipe) -> None:
    shared.modern("tools/call", {"name": "test_tool_with_progress", "arguments": {}}, "slow")
    shared.modern("tools/call", {"name": "test_simple_text", "arguments": {}}, "quick")
    assert [shared.next()["id"], shared.next()["id"]] == ["quick", "slow"]


def test_a_listener_is_told_of_changes(own: Pipe) -> None:
    own.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "ear")
    assert own.next()["method"] == "notifications/subscriptions/acknowledged"
    own.modern("tools/call", {"name": "test_trigger_tool_change", "arguments": {}}, "change")
    said = [own.next(), own.next()]
    heard = next(message for message in said if "method" in message)
    assert heard["method"] == "notifications/tools/list_changed"
    assert heard["params"]["_meta"][PREFIX + "subscriptionId"] == "ear"
    own.send("notifications/cancelled", {"requestId": "ear"})
    own.modern("tools/list", request_id="done")
    assert own.answer("done")["result"]["tools"]


def test_a_legacy_client_is_told_of_changes(own: Pipe) -> None:
    own.handshake()
    own.send("resources/subscribe", {"uri": "test://watched-resource"}, 1)
    assert own.answer(1)["result"] == {}
    own.send("tools/call", {"name": "test_trigger_resource_update", "arguments": {}}, 2)
    said = [own.next(), own.next()]
    assert {"uri": "test://watched-resource"} in [message.get("params") for message in said]


def test_a_question_is_a_request_on_the_same_pipe(own: Pipe) -> None:
    own.handshake(capabilities={"elicitation": {}})
    own.send("tools/call", {"name": "test_input_required_result_elicitation", "arguments": {}}, 1)
    asked = own.next()
    assert asked["method"] == "elicitation/create"
    own.write(b'{"jsonrpc":"2.0","id":"%b","result":{"action":"decline"}}' % asked["id"].encode())
    assert own.answer(1)["result"]["content"][0]["text"] == "No name: decline."
