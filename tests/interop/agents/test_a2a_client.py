"""The official A2A client against Pentad, in both versions and all bindings: what it reads has passed its messages."""

from typing import Any

import pytest

from pentad.rooms.agents.context.integrity import items_hash
from tests.interop.agents.agent import DATA, LINK, RAW, TEXT
from tests.interop.agents.tours import Site, a2a, stops

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=["JSONRPC 1.0", "HTTP+JSON 1.0", "GRPC 1.0", "JSONRPC 0.3"])
def seen(site: Site, request: pytest.FixtureRequest) -> dict[str, Any]:
    return stops(a2a("tour", site.url, *request.param.split(), site.ref))


def state(task: Any) -> str:
    return task["status"]["state"].removeprefix("TASK_STATE_")


def said(status_or_task: Any) -> str:
    return status_or_task["status"]["message"]["parts"][0]["text"]


def kinds(events: list[Any]) -> list[str]:
    """Every event as a word or two."""
    found: list[str] = []
    for event in events:
        ((kind, body),) = event.items()
        if kind == "artifactUpdate":
            found.append(f"{body['artifact']['artifactId']} {body.get('append', False)} {body.get('lastChunk', False)}")
        else:
            found.append(f"{kind} {state(body)}")
    return found


@pytest.mark.requirement("agents:interop:card")
def test_the_card_is_read_and_its_signature_holds(seen: dict[str, Any], site: Site) -> None:
    card = seen["card_read"]
    offered = [(one["protocolBinding"], one["protocolVersion"]) for one in card["supportedInterfaces"]]
    assert offered == [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("GRPC", "1.0")]
    assert {one["url"] for one in card["supportedInterfaces"][:3]} == {f"{site.url}/agents/proof"}
    assert card["supportedInterfaces"][3]["tenant"] == "proof"
    assert len(card["signatures"]) >= 1


@pytest.mark.requirement("agents:interop:a2a", "agents:interop:grpc")
def test_a_task_is_sent_and_read(seen: dict[str, Any]) -> None:
    task = seen["send"]["task"]
    assert (state(task), said(task)) == ("COMPLETED", "You said: hello")
    assert [message["metadata"] for message in task["history"]] == [{"n": 42}]
    assert seen["send"]["got"] == task
    assert "history" not in seen["send"]["short"]


def test_a_stream_begins_with_the_task_and_ends_with_its_last_status(seen: dict[str, Any]) -> None:
    assert kinds(seen["stream"]) == [
        "task SUBMITTED", "statusUpdate WORKING", "poem False False", "poem True False", "poem True True",
        "statusUpdate COMPLETED",
    ]  # fmt: skip


def test_an_agent_may_answer_without_a_task(seen: dict[str, Any]) -> None:
    message = seen["reply"]["message"]
    assert message["parts"] == [{"text": "No task for that."}]
    assert "taskId" not in message


def test_a_task_that_asks_goes_on_with_the_answer(seen: dict[str, Any]) -> None:
    before, after = seen["proceed"]["before"], seen["proceed"]["after"]
    assert (state(before), said(before)) == ("INPUT_REQUIRED", "Which city?")
    assert (state(after), said(after), after["id"]) == ("COMPLETED", "You said: Ghent", before["id"])
    assert [message["parts"][0]["text"] for message in after["history"]] == ["ask", "Which city?", "Ghent"]


@pytest.mark.requirement("agents:repeat:first-result", "agents:repeat:answers")
def test_a_message_and_an_answer_that_are_sent_again_get_their_first_result(seen: dict[str, Any]) -> None:
    first, again = seen["again"]["tasks"]
    assert (again["id"], state(again)) == (first["id"], "INPUT_REQUIRED")
    done, repeated = seen["again"]["answered"]
    assert repeated == done
    assert [message["parts"][0]["text"] for message in done["history"]] == ["ask", "Which city?", "Ghent"]


@pytest.mark.requirement("agents:interop:a2a")
def test_a_subscriber_has_the_task_first_and_hears_of_its_cancellation(seen: dict[str, Any]) -> None:
    found = seen["subscribe"]
    assert state(found["task"]) == "WORKING"
    assert kinds(found["events"]) == ["task WORKING", "statusUpdate CANCELED"]
    assert state(found["canceled"]) == state(found["got"]) == "CANCELED"


@pytest.mark.requirement("agents:interop:hash")
def test_the_hash_of_a_context_outlives_the_way_through_the_library(seen: dict[str, Any]) -> None:
    """It turns 42 into 42.0 on the way; the references still work."""
    items, task = seen["context"]["items"], seen["context"]["task"]
    found = task["status"]["message"]["parts"][0]["data"]
    assert found["hash"] == items_hash(items)
    assert (found["contents"]["profile"], found["contents"]["note"]) == ({"age": 42, "name": "Noor"}, "plain")
    assert found["contents"]["record"]["name"] == "Noor"


def test_artifacts_of_every_kind_arrive(seen: dict[str, Any]) -> None:
    made = {one["artifactId"]: one["parts"] for one in seen["parts"]["artifacts"]}
    file = {"filename": "made.txt", "mediaType": "text/plain"}
    assert made == {
        "text": [{"text": TEXT}], "bytes": [{"raw": RAW, **file}], "link": [{"url": LINK, **file}],
        "data": [{"data": DATA}],
    }  # fmt: skip


def test_a_rejected_task_says_why(seen: dict[str, Any]) -> None:
    assert (state(seen["reject"]), said(seen["reject"])) == ("REJECTED", "Not this.")


def test_tasks_are_listed(seen: dict[str, Any]) -> None:
    if (listed := seen["listed"]) is not None:  # version 0.3 has no lists
        assert [one["id"] for one in listed["page"]["tasks"]] == [listed["id"]]
        assert (listed["page"]["totalSize"], listed["page"].get("nextPageToken", "")) == (1, "")


def test_push_configurations_are_kept_listed_and_deleted(seen: dict[str, Any]) -> None:
    push = seen["push"]
    assert (push["made"]["id"], push["made"]["url"]) == ("c1", "https://example.com/hook")
    assert push["made"]["token"] == "t"
    kept = {key: value for key, value in push["made"].items() if key != "token"}  # it is shown once
    assert push["got"] == kept
    assert push["listed"]["configs"] == [kept]
    assert push["left"].get("configs", []) == []


def test_the_extended_card_is_read(seen: dict[str, Any]) -> None:
    assert seen["extended"]["name"] == seen["card_read"]["name"]


def test_refusals_are_raised_as_what_they_are(seen: dict[str, Any]) -> None:
    assert seen["refusals"] == {
        "get": "TaskNotFoundError", "cancel": "TaskNotFoundError", "cancel over": "TaskNotCancelableError",
        "subscribe": "TaskNotFoundError", "subscribe over": "UnsupportedOperationError", "send": "TaskNotFoundError",
        "send over": "UnsupportedOperationError", "other context": "InvalidParamsError",
        "context": "InvalidParamsError",
    }  # fmt: skip
