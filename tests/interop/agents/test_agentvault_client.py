"""AgentVault's own client against Pentad: what it reads has passed the models of its library."""

from typing import Any

import pytest

from pentad.rooms.agents.context.integrity import items_hash
from tests.interop.agents.agent import DATA, LINK, TEXT
from tests.interop.agents.tours import Site, agentvault, stops

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def seen(site: Site) -> dict[str, Any]:
    return stops(agentvault("tour", site.card, site.ref))


def kinds(events: list[Any]) -> list[str]:
    """Every event as its state, its artifact, or its message."""
    return [
        event.get("state")
        or (f"artifact {event['artifact']['id']}" if "artifact" in event else texts(event["message"]))
        for event in events
    ]


def texts(message: Any) -> str:
    return " ".join(part["content"] for part in message["parts"] if part["type"] == "text")


@pytest.mark.requirement("agents:interop:card")
def test_the_card_is_read(seen: dict[str, Any], site: Site) -> None:
    card = seen["card_read"]
    assert (card["humanReadableId"], card["url"]) == ("pentad/proof", f"{site.url}/agents/proof")
    assert [scheme["scheme"] for scheme in card["authSchemes"]] == ["none"]


@pytest.mark.requirement("agents:interop:agentvault")
def test_a_task_is_sent_followed_and_read(seen: dict[str, Any]) -> None:
    sent = seen["send"]
    assert kinds(sent["events"]) == ["You said: hello", "COMPLETED"]
    assert sent["task"]["state"] == "COMPLETED"
    first, second = sent["task"]["messages"]
    assert [part["type"] for part in first["parts"]] == ["text", "data", "file"]
    assert (first["parts"][1]["content"], first["metadata"]) == ({"n": 42}, {"client_request_id": "r1"})
    assert (second["role"], texts(second)) == ("assistant", "You said: hello")


@pytest.mark.requirement("agents:interop:agentvault")
def test_a_late_subscriber_hears_all_of_it_and_the_stream_ends(seen: dict[str, Any]) -> None:
    assert seen["send"]["again"] == seen["send"]["events"]


def test_messages_states_and_artifacts_come_in_order(seen: dict[str, Any]) -> None:
    chunks = ["artifact poem"] * 3
    assert kinds(seen["stream"]["events"]) == ["I begin.", "WORKING", *chunks, "There it is.", "COMPLETED"]


def test_a_task_that_asks_goes_on_with_the_answer(seen: dict[str, Any]) -> None:
    proceeded = seen["proceed"]
    assert kinds(proceeded["before"])[-1] == "INPUT_REQUIRED"
    assert proceeded["answered"] is True
    assert kinds(proceeded["after"])[-2:] == ["You said: Ghent", "COMPLETED"]
    assert [texts(one) for one in proceeded["task"]["messages"]] == ["ask", "Which city?", "Ghent", "You said: Ghent"]


def test_a_task_is_canceled(seen: dict[str, Any]) -> None:
    assert seen["cancel"]["canceled"] is True
    assert seen["cancel"]["task"]["state"] == "CANCELED"
    assert kinds(seen["cancel"]["events"])[-1] == "CANCELED"


@pytest.mark.requirement("agents:interop:agentvault")
def test_context_arrives_as_sent_and_its_references_are_followed(seen: dict[str, Any]) -> None:
    items, task = seen["context"]["items"], seen["context"]["task"]
    question, answer = task["messages"]
    assert question["metadata"]["mcp_context"]["items"] == items
    found = answer["parts"][0]["content"]
    assert found["hash"] == items_hash(items)
    assert (found["contents"]["profile"], found["contents"]["note"]) == ({"age": 42, "name": "Noor"}, "plain")
    assert found["contents"]["record"]["name"] == "Noor"


def test_artifacts_of_every_kind_arrive(seen: dict[str, Any], site: Site) -> None:
    made = {one["id"]: one for one in seen["parts"]["task"]["artifacts"]}
    assert (made["text"]["content"], made["data"]["content"], made["link"]["url"]) == (TEXT, DATA, LINK)
    assert made["bytes"]["url"].startswith(f"{site.url}/agents/proof/tasks/")


def test_a_rejected_task_has_failed_with_its_reason(seen: dict[str, Any]) -> None:
    assert kinds(seen["reject"]["events"]) == ["Not this.", "FAILED"]


def test_refusals_are_raised_with_their_codes(seen: dict[str, Any]) -> None:
    codes = {what: found["code"] for what, found in seen["refusals"].items()}
    assert codes == {
        "get": -32001, "cancel": -32001, "send": -32001, "over": -32004, "context": -32602,
        "subscribe": None,  # the client raises, and has no code for errors in a stream
    }  # fmt: skip
