"""The MUST requirements of A2A 1.0, tested on a server process over both bindings as the conformance suite does.

The address is the one the card names for a binding; JSON-RPC is posted to it with a slash.
"""

import threading
from typing import Any

import pytest

from tests.behaviour.agents.suites import Binding, begun, card, last_state, message, state, suites_site

__all__ = ["card", "suites_site"]

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def a2a(card: Any, request: pytest.FixtureRequest) -> Binding:
    (url,) = [
        one["url"]
        for one in card["supportedInterfaces"]
        if (one["protocolBinding"], one["protocolVersion"]) == (request.param, "1.0")
    ]
    return Binding(request.param, url)


@pytest.mark.requirement("agents:tck:1.0")
def test_the_card_has_every_required_member(card: Any) -> None:
    required = {
        "name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes",
        "defaultOutputModes", "skills",
    }  # fmt: skip
    assert required <= card.keys()
    for skill in card["skills"]:
        assert {"id", "name", "description", "tags"} <= skill.keys()


@pytest.mark.requirement("agents:tck:1.0")
def test_a_send_waits_for_the_end_and_the_task_can_be_read(a2a: Binding) -> None:
    task = begun(a2a, "tck-complete-task")
    assert state(task) == "TASK_STATE_COMPLETED"
    assert task["status"]["message"]["role"] == "ROLE_AGENT"
    assert task["status"]["timestamp"].endswith("Z")
    assert a2a.ask("get", id=task["id"]) == task


def test_a_message_may_be_the_answer(a2a: Binding) -> None:
    answer = a2a.ask("send", message=message("tck-message-response"))
    assert answer["message"]["parts"] == [{"text": "Direct message response"}]
    assert "task" not in answer


def test_parts_of_every_kind_arrive_as_they_were_made(a2a: Binding) -> None:
    file = {"filename": "output.txt", "mediaType": "text/plain"}
    wanted = {
        "tck-artifact-text": {"text": "Generated text content"},
        "tck-artifact-file-url": {"url": "https://example.com/output.txt", **file},
        "tck-artifact-data": {"data": {"key": "value", "count": 42}},
    }
    for beginning, part in wanted.items():
        assert begun(a2a, beginning)["artifacts"][0]["parts"] == [part]
    raw = begun(a2a, "tck-artifact-file")["artifacts"][0]["parts"][0]
    assert raw.keys() == {"raw", "filename", "mediaType"}


@pytest.mark.requirement("agents:tck:1.0")
def test_what_is_unknown_or_over_is_refused_for_its_reason(a2a: Binding) -> None:
    over = begun(a2a, "tck-complete-task")
    for what in ("get", "cancel", "subscribe"):
        a2a.refused(what, "TASK_NOT_FOUND", id="no-such-task")
    a2a.refused("send", "TASK_NOT_FOUND", message=message("x", taskId="no-such-task"))
    a2a.refused("cancel", "TASK_NOT_CANCELABLE", id=over["id"])
    a2a.refused("subscribe", "UNSUPPORTED_OPERATION", id=over["id"])
    a2a.refused("send", "UNSUPPORTED_OPERATION", message=message("x", taskId=over["id"]))


@pytest.mark.requirement("agents:tck:1.0")
def test_a_task_that_waits_is_continued_in_its_context_alone(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    assert state(task) == "TASK_STATE_INPUT_REQUIRED"
    a2a.refused("send", "", message=message("x", taskId=task["id"], contextId="another"))
    done = begun(a2a, "tck-complete-task", taskId=task["id"])
    assert (done["id"], done["contextId"], state(done)) == (task["id"], task["contextId"], "TASK_STATE_COMPLETED")
    assert state(begun(a2a, "tck-reject-task")) == "TASK_STATE_REJECTED"


@pytest.mark.requirement("agents:tck:1.0")
def test_a_task_that_needs_a_login_says_so_and_is_not_over(a2a: Binding) -> None:
    task = begun(a2a, "tck-auth-required")
    assert state(task) == state(a2a.ask("get", id=task["id"])) == "TASK_STATE_AUTH_REQUIRED"
    assert state(begun(a2a, "tck-complete-task", taskId=task["id"])) == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("agents:tck:1.0")
def test_a_send_waits_for_the_end_unless_it_is_to_return_at_once(a2a: Binding) -> None:
    late = message("tck-delayed-complete")
    early = a2a.ask("send", message=late, configuration={"returnImmediately": True})["task"]
    assert state(early) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    waited = a2a.ask("send", message=late, configuration={"returnImmediately": False})["task"]
    assert state(waited) == "TASK_STATE_COMPLETED"


def test_a_task_that_waits_is_canceled(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    assert state(a2a.ask("cancel", id=task["id"])) == "TASK_STATE_CANCELED"
    assert state(a2a.ask("get", id=task["id"])) == "TASK_STATE_CANCELED"


def test_history_is_as_long_as_it_was_asked_for(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    begun(a2a, "tck-complete-task", taskId=task["id"])
    whole = a2a.ask("get", id=task["id"])["history"]
    assert len(whole) >= 2
    assert a2a.ask("get", id=task["id"], historyLength=1)["history"] == whole[-1:]
    assert "history" not in a2a.ask("get", id=task["id"], historyLength=0)


def test_a_caller_may_choose_not_to_wait(a2a: Binding) -> None:
    settings = {"returnImmediately": True}
    task = a2a.ask("send", message=message("test-resubscribe-message-id"), configuration=settings)["task"]
    assert state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    assert state(a2a.ask("cancel", id=task["id"])) == "TASK_STATE_CANCELED"


@pytest.mark.requirement("agents:tck:1.0")
def test_a_stream_begins_with_the_task_keeps_the_order_and_ends_with_its_end(a2a: Binding) -> None:
    events = list(a2a.events("stream", message=message("tck-stream-artifact-chunked")))
    kinds = [next(iter(event)) for event in events]
    assert kinds == ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]
    first, second = (event["artifactUpdate"] for event in events[2:4])
    assert first["artifact"]["artifactId"] == second["artifact"]["artifactId"]
    assert (first.get("append", False), second["append"], second["lastChunk"]) == (False, True, True)
    assert last_state(events[-1]) == "TASK_STATE_COMPLETED"


def test_a_stream_may_be_a_message_alone(a2a: Binding) -> None:
    (event,) = a2a.events("stream", message=message("tck-message-response"))
    assert event.keys() == {"message"}


@pytest.mark.requirement("agents:tck:1.0")
def test_all_that_subscribe_have_the_task_first_and_hear_the_same_to_its_end(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    streams = [a2a.events("subscribe", id=task["id"]) for _ in range(2)]
    for stream in streams:
        first = next(stream)
        assert (first["task"]["id"], last_state(first)) == (task["id"], "TASK_STATE_INPUT_REQUIRED")
    ending = threading.Thread(target=begun, args=(a2a, "tck-complete-task"), kwargs={"taskId": task["id"]})
    ending.start()
    heard = [list(stream) for stream in streams]
    ending.join()
    assert heard[0] == heard[1]
    assert last_state(heard[0][-1]) == "TASK_STATE_COMPLETED"


def test_tasks_are_listed_newest_first_in_pages(a2a: Binding) -> None:
    first = begun(a2a, "tck-artifact-text")
    more = [begun(a2a, "tck-artifact-text", contextId=first["contextId"]) for _ in range(2)]
    wanted = [task["id"] for task in (*reversed(more), first)]
    page = a2a.ask("list", contextId=first["contextId"], pageSize=2)
    assert ([task["id"] for task in page["tasks"]], page["totalSize"], page["pageSize"]) == (wanted[:2], 3, 2)
    assert all("artifacts" not in task for task in page["tasks"])
    rest = a2a.ask(
        "list", contextId=first["contextId"], pageSize=2, pageToken=page["nextPageToken"], includeArtifacts=True
    )
    assert [task["id"] for task in rest["tasks"]] == wanted[2:]
    assert (rest["nextPageToken"], len(rest["tasks"][0]["artifacts"])) == ("", 1)
    only = a2a.ask("list", contextId=first["contextId"], status="TASK_STATE_CANCELED")
    assert (only["tasks"], only["totalSize"]) == ([], 0)
    a2a.refused("list", "", pageSize=101)


def test_push_configs_are_made_read_listed_and_deleted(a2a: Binding) -> None:
    task = begun(a2a, "tck-input-required")
    made = a2a.ask("set push", taskId=task["id"], id="c1", url="https://example.com/hook", token="t")
    shown = {key: value for key, value in made.items() if key != "token"}
    assert a2a.ask("get push", taskId=task["id"], id="c1") == shown
    assert a2a.ask("list push", taskId=task["id"])["configs"] == [shown]
    a2a.ask("delete push", taskId=task["id"], id="c1")
    assert a2a.ask("list push", taskId=task["id"]).get("configs", []) == []
    a2a.refused("get push", "TASK_NOT_FOUND", taskId="no-such-task", id="c1")


@pytest.mark.requirement("agents:tck:1.0")
@pytest.mark.parametrize("a2a", ["JSONRPC"], indirect=True)
def test_what_is_asked_for_is_read_by_the_names_of_the_protocol_buffers_too(a2a: Binding) -> None:
    """The suite spells them this way over JSON-RPC only."""
    task = begun(a2a, "tck-input-required")
    begun(a2a, "tck-complete-task", taskId=task["id"])
    assert len(a2a.ask("get", id=task["id"], history_length=1)["history"]) == 1
    page = a2a.ask("list", context_id=task["contextId"], page_size=7, include_artifacts=False)
    assert ([one["id"] for one in page["tasks"]], page["pageSize"]) == ([task["id"]], 7)
    made = a2a.ask("set push", task_id=task["id"], id="c1", url="https://example.com/hook")
    assert a2a.ask("get push", task_id=task["id"], id="c1") == made
    assert a2a.ask("list push", task_id=task["id"])["configs"] == [made]
    assert a2a.ask("delete push", task_id=task["id"], id="c1") == a2a.ask("delete push", task_id=task["id"], id="c1")
    a2a.refused("get", "", id=task["id"], history_length=1, historyLength=1)


@pytest.mark.requirement("agents:tck:1.0")
def test_versions_and_extensions_are_negotiated(a2a: Binding) -> None:
    a2a.refused("send", "VERSION_NOT_SUPPORTED", headers={"A2A-Version": "99.0"}, message=message("x"))
    extensions = {"A2A-Extensions": "https://example.com/ext/v1, https://example.com/ext/v2"}
    assert state(a2a.ask("send", headers=extensions, message=message("x"))["task"]) == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("agents:tck:1.0")
def test_what_the_editions_of_the_suite_want_otherwise_is_so_that_none_of_them_fails(a2a: Binding) -> None:
    """JSON with another media type has a code over JSON-RPC; over HTTP it is 415 in one edition and 400 in another."""
    called = {"headers": {"Content-Type": "text/plain"}, "message": message("x")}
    if a2a.binding == "JSONRPC":
        a2a.refused("send", "CONTENT_TYPE_NOT_SUPPORTED", **called)
    else:
        assert state(a2a.ask("send", **called)["task"]) == "TASK_STATE_COMPLETED"
    unknown = {**message("tck-send-003"), "parts": [{"raw": "dGNr", "mediaType": "application/x-unknown"}]}
    assert state(a2a.ask("send", message=unknown)["task"]) == "TASK_STATE_COMPLETED"


def test_wrong_params_are_told_by_their_fields(a2a: Binding) -> None:
    a2a.refused("send", "")
    for wrong in ({"parts": "text"}, {"parts": []}, {"role": "ROLE_NOBODY"}, {"messageId": ""}):
        a2a.refused("send", "", message={**message("x"), **wrong})
