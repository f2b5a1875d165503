"""The mandatory requirements of A2A 0.3, tested on a server process over JSON-RPC as the conformance suite does."""

from typing import Any

import pytest

from tests.behaviour.agents.suites import Old, card, said, suites_site

__all__ = ["card", "suites_site"]

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def old(card: Any) -> Old:
    return Old(card["url"])


@pytest.mark.requirement("agents:tck:0.3")
def test_the_card_has_every_member_0_3_requires(card: Any) -> None:
    assert {
        "protocolVersion", "name", "description", "url", "preferredTransport", "version", "capabilities",
        "defaultInputModes", "defaultOutputModes", "skills",
    } <= card.keys()  # fmt: skip
    assert card["protocolVersion"].startswith("0.3")


@pytest.mark.requirement("agents:tck:0.3")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"}', -32700),
        ({"jsonrpc": "aaa", "method": "message/send", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "params": {}}, -32600),
        ({"method": "message/send", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "method": "message/send", "params": "no object"}, -32602),
        ({"jsonrpc": "2.0", "method": "message/send", "params": {}, "id": {"bad": "type"}}, -32600),
        ([], -32600),
        ({"jsonrpc": "2.0", "method": "no/such/method", "id": "3", "params": {}}, -32601),
        ({"jsonrpc": "2.0", "method": "message/send", "id": "4", "params": "no object"}, -32602),
        ({"jsonrpc": "2.0", "method": "message/send", "id": "4", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "method": "message/send", "id": "5", "params": {"message": {"parts": "invalid"}}}, -32602),
        ({"jsonrpc": "2.0", "method": "tasks/get", "id": "6", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "method": "tasks/cancel", "id": "7", "params": {"id": 7}}, -32602),
    ],
)
def test_what_is_no_request_is_answered_with_its_code(old: Old, body: Any, code: int) -> None:
    status, answer = old.raw(body)
    assert (status, answer["error"]["code"]) == (200, code)
    assert answer["id"] == (body["id"] if isinstance(body, dict) and isinstance(body.get("id"), str) else None)


@pytest.mark.requirement("agents:tck:0.3")
def test_tasks_of_0_3_are_sent_read_continued_and_canceled(old: Old) -> None:
    task = old.ask("message/send", said("tck-complete-task"))
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert old.ask("tasks/get", {"id": task["id"]}) == task
    assert old.ask("tasks/get", {"id": task["id"], "historyLength": 0}).get("history", []) == []
    waiting = old.ask("message/send", said("tck-input-required"))
    assert waiting["status"]["state"] == "input-required"
    done = old.ask("message/send", said("tck-complete-task", taskId=waiting["id"], contextId=waiting["contextId"]))
    assert (done["id"], done["status"]["state"]) == (waiting["id"], "completed")
    other = old.ask("message/send", said("tck-input-required"))
    assert old.ask("tasks/cancel", {"id": other["id"]})["status"]["state"] == "canceled"
    assert old.ask("message/send", said("tck-message-response"))["kind"] == "message"


@pytest.mark.requirement("agents:tck:0.3")
def test_a_task_nobody_gave_a_sign_is_continued_again_and_again(old: Old) -> None:
    task = old.ask("message/send", said("test-history-create"))
    assert task["status"]["state"] == "input-required"
    assert old.ask("tasks/get", {"id": task["id"], "historyLength": 1})["history"]
    for _ in range(3):
        more = old.ask("message/send", said("test-history-message", taskId=task["id"]))
        assert (more["id"], more["status"]["state"]) == (task["id"], "input-required")
    assert len(old.ask("tasks/get", {"id": task["id"]})["history"]) > 2
    assert len(old.ask("tasks/get", {"id": task["id"], "historyLength": 2})["history"]) == 2
    assert old.ask("tasks/cancel", {"id": task["id"]})["status"]["state"] == "canceled"


@pytest.mark.requirement("agents:tck:0.3")
def test_what_is_unknown_or_over_has_the_codes_of_0_3(old: Old) -> None:
    over = old.ask("message/send", said("tck-complete-task"))["id"]
    assert old.ask("tasks/get", {"id": "no-such-task"}) == -32001
    assert old.ask("tasks/cancel", {"id": "no-such-task"}) == -32001
    assert old.ask("message/send", said("x", taskId="no-such-task")) == -32001
    assert old.events("tasks/resubscribe", {"id": "no-such-task"}) == [-32001]
    assert old.events("message/stream", said("x", taskId="no-such-task")) == [-32001]
    assert old.ask("tasks/cancel", {"id": over}) == -32002


def test_a_stream_of_0_3_ends_with_a_final_event(old: Old) -> None:
    events = old.events("message/stream", said("tck-stream-artifact-chunked"))
    assert [event["kind"] for event in events] == [
        "task", "status-update", "artifact-update", "artifact-update", "status-update"
    ]  # fmt: skip
    assert [event["final"] for event in events if event["kind"] == "status-update"] == [False, True]
    assert (events[2]["append"], events[3]["append"], events[3]["lastChunk"]) == (False, True, True)
