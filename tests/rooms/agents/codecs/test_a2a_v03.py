"""A2A 0.3 on the wire."""

import json
from typing import Any

import pytest
from msgspec import Raw

from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.errors import Fault
from pentad.rooms.agents.models import INTERRUPTED, STATES, TERMINAL, Event, Message, Part, StatusEvent
from tests.rooms.agents.codecs.samples import ANSWER, ASKED, AT, BIG, EVENTS, STAMP, TASK

MESSAGE = {
    "kind": "message",
    "messageId": "m-1",
    "role": "user",
    "parts": [
        {"kind": "text", "text": "Refactor the attached script."},
        {
            "kind": "file",
            "file": {"uri": "https://files.example/script.py", "name": "script.py", "mimeType": "text/x-python"},
        },
        {"kind": "data", "data": {"exact": BIG, "deep": [{"a": [1, 2.5, None]}]}},
        {"kind": "file", "file": {"bytes": "aGVsbG8=", "name": "hello.txt", "mimeType": "text/plain"}},
    ],
    "metadata": {"mcp_context": {"items": {"n": {"content": BIG}}}},
}


def read(body: Any) -> Message:
    return V03.decode_send(Raw(json.dumps({"message": body}).encode())).message


def test_a_message_is_read_as_it_was_sent_and_written_back_the_same() -> None:
    assert V03.encode_message(read(MESSAGE), None, None) == MESSAGE
    assert V03.encode_message(ASKED, None, None) == MESSAGE


def test_without_a_kind_the_members_of_a_part_tell() -> None:
    parts = [{"text": "a"}, {"file": {"uri": "https://x.example/"}}, {"data": {}}]
    found = read({**MESSAGE, "parts": parts}).parts
    assert found == (Part(text="a"), Part(url="https://x.example/"), Part(data={}))


def test_data_that_is_no_object_is_wrapped_and_an_unusual_type_kept() -> None:
    assert V03.encode_part(Part(data=[1])) == {"kind": "data", "data": {"value": [1]}}
    written = V03.encode_part(Part(text="# x", media_type="text/markdown", metadata={"a": 1}))
    assert written == {"kind": "text", "text": "# x", "metadata": {"mediaType": "text/markdown", "a": 1}}


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"messageId": ""}, ["messageId"]),
        ({"role": "ROLE_USER"}, ["role"]),
        ({"kind": "task"}, ["kind"]),
        ({"parts": []}, ["parts"]),
        ({"parts": [{"kind": "text"}]}, ["parts[0]"]),
        ({"parts": [{"kind": "video", "text": "x"}]}, ["parts[0]"]),
        ({"parts": [{"kind": "data", "data": [1]}]}, ["parts[0]"]),
        ({"parts": [{"kind": "file", "file": {}}]}, ["parts[0].file"]),
        ({"parts": [{"kind": "file", "file": {"bytes": "?"}}]}, ["parts[0].file.bytes"]),
        ({"parts": {}}, ["parts"]),
    ],
)
def test_every_field_that_is_wrong_is_named(change: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(Fault) as caught:
        read({**MESSAGE, **change})
    assert [violation.field for violation in caught.value.violations] == [f"message.{field}" for field in fields]


def test_a_task_says_its_kind_and_state() -> None:
    body = V03.encode_task(TASK, 1)
    assert (body["kind"], body["id"], body["contextId"]) == ("task", "t-1", "c-1")
    assert body["status"] == {
        "state": "completed",
        "timestamp": STAMP,
        "message": V03.encode_message(ANSWER, "t-1", "c-1"),
    }
    assert [one["messageId"] for one in body["history"]] == ["m-2"]
    assert [one["artifactId"] for one in body["artifacts"]] == ["a-1", "a-2", "a 3"]


def test_events_say_their_kind_and_a_users_turn_is_none() -> None:
    told = [V03.encode_event(event, "t-1", "c-1") for event in EVENTS]
    assert [None if one is None else one["kind"] for one in told] == [
        "status-update",
        None,
        "status-update",
        "status-update",
        "artifact-update",
        "artifact-update",
        "status-update",
    ]
    chunk = told[4]
    assert chunk is not None
    assert (chunk["append"], chunk["lastChunk"]) == (True, False)
    assert chunk["artifact"] == V03.encode_artifact(TASK.artifacts[0])


def test_the_last_event_of_an_interaction_is_final() -> None:
    for state in STATES:
        told = V03.encode_event(Event(1, AT, StatusEvent(state)), "t", "c")
        assert told is not None
        assert told["final"] is (state in TERMINAL | INTERRUPTED)


def test_a_push_config_is_read_and_written() -> None:
    config = {"id": "p", "url": "https://hook.example/", "token": "s"}
    who = {"schemes": ["Bearer"], "credentials": "c"}
    body = {"taskId": "t-1", "pushNotificationConfig": {**config, "authentication": who}}
    given = V03.decode_set_push(Raw(json.dumps(body).encode()))
    assert V03.encode_push(given.config, "t-1") == body
