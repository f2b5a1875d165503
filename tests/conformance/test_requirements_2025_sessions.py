"""The revisions with a handshake: how a session begins, lives, is resumed and ends."""

import json

import pytest

from tests.conformance.wire import LEGACY, Session, Wire, content_headers

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture
def session(wire: Wire) -> Session:
    return Session.start(wire)


@pytest.mark.parametrize("version", REVISIONS)
def test_the_server_speaks_the_revision_it_is_asked_for(wire: Wire, version: str) -> None:
    session = Session.start(wire, version)
    assert session.version == version
    assert {"name", "version"} <= session.initialized.result["serverInfo"].keys()
    assert {"tools", "prompts", "resources"} <= session.initialized.result["capabilities"].keys()


@pytest.mark.parametrize("version", ["1999-01-01", "2027-01-01", "2026-07-28", "draft"])
def test_an_unknown_revision_is_answered_with_the_newest_of_this_era(wire: Wire, version: str) -> None:
    assert Session.start(wire, version).version == LEGACY


def test_a_session_id_is_long_visible_and_never_the_same(wire: Wire) -> None:
    first, second = Session.start(wire).id, Session.start(wire).id
    assert first != second
    assert len(first) >= 22
    assert all(0x21 <= ord(character) <= 0x7E for character in first + second)


def test_an_ended_session_is_not_found(session: Session) -> None:
    assert session.call("ping").status == 200
    assert 200 <= session.end().status < 300
    assert session.call("ping").status == 404
    assert session.end().status == 404


def test_a_made_up_session_is_not_found(session: Session) -> None:
    assert session.call("ping", headers={"Mcp-Session-Id": "a" * 32}).status == 404


def test_a_request_without_a_session_is_served_and_makes_none(session: Session) -> None:
    answer = session.call("tools/list", headers={"Mcp-Session-Id": None}, request_id="n")
    assert (answer.status, answer.final["id"]) == (200, "n")
    assert "mcp-session-id" not in answer.headers


def test_what_needs_a_session_is_refused_without_one(session: Session) -> None:
    watched = {"uri": "test://watched-resource"}
    answer = session.call("resources/subscribe", watched, headers={"Mcp-Session-Id": None})
    assert (answer.status, answer.code) == (400, -32600)


def test_blanks_around_a_session_id_do_not_count(session: Session) -> None:
    assert session.call("ping", headers={"Mcp-Session-Id": f"  {session.id} "}).status == 200


@pytest.mark.parametrize("version", ["1999-01-01", "nonsense", "2025-11-25x"])
def test_an_unknown_version_header_is_refused(session: Session, version: str) -> None:
    assert session.call("ping", headers={"MCP-Protocol-Version": version}).status == 400


def test_an_absent_version_header_is_no_obstacle(session: Session) -> None:
    assert session.call("ping", headers={"MCP-Protocol-Version": None}).status == 200


def test_deleting_without_a_session_is_refused(wire: Wire) -> None:
    assert wire.send(None, {}, verb="DELETE").status in (400, 405)


def test_listening_without_a_session_is_refused(wire: Wire) -> None:
    assert wire.send(None, {"Accept": "text/event-stream"}, verb="GET").status in (400, 405)


def test_listening_needs_a_client_that_takes_events(session: Session) -> None:
    headers = session.headers({"Accept": "application/json", "Content-Type": None})
    assert session.wire.send(None, headers, verb="GET").status == 406


def test_a_listener_hears_that_lists_changed(session: Session) -> None:
    with session.listen() as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        session.tool("test_trigger_tool_change")
        session.tool("test_trigger_prompt_change")
        assert stream.next_message()["method"] == "notifications/tools/list_changed"
        assert stream.next_message()["method"] == "notifications/prompts/list_changed"


def test_a_subscriber_hears_of_its_resource_until_it_leaves(session: Session) -> None:
    watched = {"uri": "test://watched-resource"}
    with session.listen() as stream:
        session.call("resources/subscribe", watched)
        session.tool("test_trigger_resource_update")
        assert stream.wait_for("notifications/resources/updated")["params"]["uri"] == watched["uri"]
        session.call("resources/unsubscribe", watched)
        session.tool("test_trigger_resource_update")
        session.tool("test_trigger_tool_change")
        assert stream.next_message()["method"] == "notifications/tools/list_changed"


def test_a_stream_that_was_closed_goes_on_where_it_stopped(session: Session) -> None:
    with session.open("tools/call", {"name": "test_reconnection", "arguments": {}}, request_id=41) as stream:
        events = list(stream.events())
    assert events[0].id
    assert events[0].data == ""
    assert any(event.retry for event in events)
    assert not any(event.data for event in events)
    with session.listen(last_event_id=events[-1].id) as stream:
        final = stream.next_message()
    assert final["id"] == 41
    assert "completed" in final["result"]["content"][0]["text"]


def test_a_stream_may_be_taken_up_only_by_its_own_session(wire: Wire, session: Session) -> None:
    with session.open("tools/call", {"name": "test_reconnection", "arguments": {}}, request_id=42) as stream:
        last = [event.id for event in stream.events()][-1]
    stranger = Session.start(wire)
    with stranger.listen(last_event_id=last) as stream:
        assert stream.status != 200 or stream.quiet(0.3)


def test_a_call_survives_the_loss_of_its_connection(session: Session) -> None:
    params = {"name": "test_hold", "arguments": {"key": "legacy-gone"}, "_meta": {"progressToken": 1}}
    with session.open("tools/call", params, request_id=43) as stream:
        assert stream.next_message()["method"] == "notifications/progress"
    session.notify("notifications/cancelled", {"requestId": 43, "reason": "enough"})
    assert session.tool("test_held", {"key": "legacy-gone"}).result["content"][0]["text"] == "cancelled"


def test_a_cancelled_call_is_stopped_and_not_answered(session: Session) -> None:
    params = {"name": "test_hold", "arguments": {"key": "legacy-cancel"}, "_meta": {"progressToken": 1}}
    with session.open("tools/call", params, request_id=44) as stream:
        assert stream.next_message()["method"] == "notifications/progress"
        assert session.notify("notifications/cancelled", {"requestId": 44}).status == 202
        assert not any("result" in (event.message or {}) for event in stream.events())
    assert session.tool("test_held", {"key": "legacy-cancel"}).result["content"][0]["text"] == "cancelled"


def test_a_stranger_cannot_cancel_a_call(wire: Wire, session: Session) -> None:
    stranger = Session.start(wire)
    with session.open("tools/call", {"name": "test_tool_with_progress", "_meta": {"progressToken": 5}}) as stream:
        stream.next_message()
        stranger.notify("notifications/cancelled", {"requestId": 1})
        assert "result" in [event.message for event in stream.events() if event.data][-1]


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/unknown", "notifications/cancelled"])
def test_notifications_are_accepted_without_a_body(session: Session, method: str) -> None:
    answer = session.notify(method)
    assert (answer.status, answer.body) == (202, b"")


def test_an_answer_to_nothing_is_refused_and_does_no_harm(session: Session) -> None:
    assert session.respond("never-asked", {}).status == 400
    assert session.call("ping").status == 200


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": 5, "capabilities": {}, "clientInfo": {}},
        {"protocolVersion": LEGACY, "capabilities": [], "clientInfo": {}},
        {"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
    ],
)
def test_a_broken_handshake_makes_no_session(wire: Wire, params: dict[str, object]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    answer = wire.send(body, content_headers())
    assert answer.code == -32602
    assert "mcp-session-id" not in answer.headers


def test_two_handshakes_make_two_sessions(wire: Wire) -> None:
    first, second = Session.start(wire), Session.start(wire)
    first.end()
    assert second.call("ping").status == 200
