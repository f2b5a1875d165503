"""Two server processes on one store are one server: any of them serves any request, and one may die."""

import json
import threading
from dataclasses import replace

import pytest

from tests.conformance.wire import Event, Modern, Session, Wire
from tests.processes.servers import Pair
from tests.waiting import wait_until

pytestmark = pytest.mark.interop

ASKS = {"elicitation": {}, "sampling": {}, "roots": {}}


def through(session: Session, wire: Wire) -> Session:
    """The same session, seen from another door."""
    return replace(session, wire=wire)


def can_resume(session: Session, event_id: str | None) -> bool:
    with session.listen(event_id) as stream:
        return stream.status == 200 and any("result" in event.data for event in stream.events())


@pytest.mark.requirement("mcp:sessions:any-process")
def test_a_session_made_on_one_is_served_by_the_other(pair: Pair) -> None:
    session = Session.start(pair.a.wire)
    there = through(session, pair.b.wire)
    assert there.tool("echo", {"text": "hi"}).result["content"][0]["text"] == "hi"
    assert there.call("logging/setLevel", {"level": "emergency"}).result == {}
    wait_until(lambda: len(session.tool("chatter").notifications) == 1, "the level is not known there")


@pytest.mark.requirement("mcp:sessions:delete-everywhere")
def test_a_session_ended_on_one_is_gone_from_the_other_at_once(pair: Pair) -> None:
    session = Session.start(pair.a.wire)
    there = through(session, pair.b.wire)
    assert there.call("ping").status == 200
    assert session.end().status in (200, 204)
    wait_until(lambda: there.call("ping").status == 404, "the end is not known there")
    assert session.call("ping").status == 404


@pytest.mark.requirement("mcp:asking:any-process")
def test_a_question_asked_by_one_is_answered_through_the_other(pair: Pair) -> None:
    session = Session.start(pair.a.wire, capabilities=ASKS)
    with session.open("tools/call", {"name": "ask_person", "arguments": {}}) as stream:
        question = stream.wait_for("elicitation/create")
        there = through(session, pair.b.wire)
        answer = {"action": "accept", "content": {"name": "Ada"}}
        assert there.respond(question["id"], answer).status == 202
        assert stream.next_message()["result"]["content"][0]["text"] == "Hello Ada"


@pytest.mark.requirement("mcp:2026:any-process")
def test_a_modern_question_of_one_is_answered_to_the_other(pair: Pair) -> None:
    asked = Modern(pair.a.wire, ASKS).tool("ask_person").result
    answers = {"person": {"action": "accept", "content": {"name": "Ada"}}}
    reply = Modern(pair.b.wire, ASKS).tool("ask_person", inputResponses=answers, requestState=asked["requestState"])
    assert reply.result["content"][0]["text"] == "Hello Ada"


@pytest.mark.requirement("mcp:cancellation:any-process")
def test_a_call_running_on_one_is_cancelled_through_the_other(pair: Pair) -> None:
    session = Session.start(pair.a.wire)
    params = {"name": "hang", "arguments": {"key": "far"}, "_meta": {"progressToken": 1}}
    with session.open("tools/call", params, request_id="far-away") as stream:
        stream.wait_for("notifications/progress")
        assert through(session, pair.b.wire).notify("notifications/cancelled", {"requestId": "far-away"}).status == 202
        assert not any(event.data for event in stream.events()), "the stream ends without an answer"
    ended = session.tool("endings", {"key": "far"}).result["content"][0]["text"]
    assert ended == "cancelled"


@pytest.mark.requirement("mcp:list-changed:any-process")
def test_a_change_signalled_by_one_is_heard_on_the_others_stream(pair: Pair) -> None:
    session = Session.start(pair.b.wire)
    assert session.call("resources/subscribe", {"uri": "lab://notes/far"}).result == {}
    wanted = {"notifications": {"toolsListChanged": True}}
    with session.listen() as legacy, Modern(pair.b.wire).open("subscriptions/listen", wanted) as modern:
        modern.wait_for("notifications/subscriptions/acknowledged")
        caller = Modern(pair.a.wire)
        assert caller.tool("change", {"kind": "tools"}).status == 200
        assert caller.tool("write_note", {"name": "far", "text": "x"}).status == 200
        assert legacy.wait_for("notifications/tools/list_changed")
        assert legacy.wait_for("notifications/resources/updated")["params"]["uri"] == "lab://notes/far"
        assert modern.wait_for("notifications/tools/list_changed")


@pytest.mark.requirement("mcp:resumption:any-process")
def test_a_stream_cut_off_on_one_is_resumed_through_the_other(pair: Pair) -> None:
    session = Session.start(pair.a.wire)
    params = {"name": "gate", "arguments": {"key": f"gate-{session.id}"}, "_meta": {"progressToken": 1}}
    with session.open("tools/call", params, request_id="gated") as stream:
        cut: list[Event] = list(stream.events())
    assert not any("result" in event.data for event in cut)
    there = through(session, pair.b.wire)
    rest: list[Event] = []
    with there.listen(cut[-1].id) as resumed:
        reader = threading.Thread(target=lambda: rest.extend(resumed.events()))
        reader.start()
        assert session.tool("write_note", {"name": f"gate-{session.id}", "text": "x"}).status == 200
        reader.join(10)
        assert not reader.is_alive()
    messages = [json.loads(event.data) for event in rest if event.data]
    assert messages[0]["params"]["progress"] == 2
    assert messages[-1]["id"] == "gated"
    assert messages[-1]["result"]["content"][0]["text"] == "through"


@pytest.mark.requirement("mcp:sessions:survive-kill")
def test_a_session_survives_the_death_of_the_server_that_made_it(pair: Pair) -> None:
    session = Session.start(pair.a.wire)
    events = session.tool("count", {"steps": 2}, meta={"progressToken": 1}).events
    there = through(session, pair.b.wire)
    wait_until(lambda: can_resume(there, events[0].id), "the stream cannot be resumed there")
    pair.a.kill()
    assert there.tool("echo", {"text": "alive"}).result["content"][0]["text"] == "alive"
    with there.listen(events[0].id) as resumed:
        replayed = [event.data for event in resumed.events() if event.data]
    assert replayed == [event.data for event in events if event.data]
    pair.a.start()
    pair.a.wait_until_ready()
    assert session.tool("echo", {"text": "again"}).result["content"][0]["text"] == "again"
    assert session.end().status in (200, 204)
