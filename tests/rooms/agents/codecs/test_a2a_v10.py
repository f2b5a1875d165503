"""A2A 1.0 on the wire."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from pentad.rooms.agents.codecs.a2a_v10 import V10
from pentad.rooms.agents.codecs.errors import Fault
from pentad.rooms.agents.models import Message, Part, Task
from tests.rooms.agents.codecs.samples import ANSWER, ASKED, BIG, EVENTS, STAMP, TASK

MESSAGE = {
    "messageId": "m-1",
    "role": "ROLE_USER",
    "parts": [
        {"text": "Refactor the attached script."},
        {"url": "https://files.example/script.py", "filename": "script.py", "mediaType": "text/x-python"},
        {"data": {"exact": BIG, "deep": [{"a": [1, 2.5, None]}]}, "mediaType": "application/json"},
        {"raw": "aGVsbG8=", "filename": "hello.txt", "mediaType": "text/plain"},
    ],
    "metadata": {"mcp_context": {"items": {"n": {"content": BIG}}}},
}


def read(body: Any) -> Message:
    return V10.decode_send(Raw(json.dumps({"message": body}).encode())).message


def test_a_message_is_read_as_it_was_sent_and_written_back_the_same() -> None:
    assert read(MESSAGE) == ASKED
    assert V10.encode_message(ASKED, None, None) == MESSAGE


def test_what_a_message_belongs_to_and_brings_along_is_kept() -> None:
    more = {"contextId": "c", "taskId": "t", "extensions": ["urn:x"], "referenceTaskIds": ["t-0"]}
    found = read({**MESSAGE, **more, "unknown": 1})
    assert (found.context_id, found.task_id, found.extensions, found.references) == ("c", "t", ("urn:x",), ("t-0",))
    assert msgspec.json.decode(msgspec.json.encode(V10.encode_message(found, None, None))) == {**MESSAGE, **more}


@pytest.mark.parametrize("data", [None, 0, False, "", [], {}, BIG, "text", 1.5])
def test_any_json_value_is_data(data: Any) -> None:
    [part] = read({**MESSAGE, "parts": [{"data": data}]}).parts
    assert part.data == data
    assert type(part.data) is type(data)
    assert V10.encode_part(part) == {"data": data}


def test_members_that_say_null_are_left_out() -> None:
    nulls = {"text": "x", "raw": None, "url": None, "metadata": None, "filename": None, "mediaType": None}
    found = read({**MESSAGE, "parts": [nulls], "contextId": None, "extensions": None, "metadata": None})
    assert found == Message(id="m-1", role="user", parts=(Part(text="x"),))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"messageId": ""}, ["messageId"]),
        ({"messageId": 7}, ["messageId"]),
        ({"role": "ROLE_UNSPECIFIED"}, ["role"]),
        ({"parts": []}, ["parts"]),
        ({"parts": "invalid"}, ["parts"]),
        ({"parts": [{}]}, ["parts[0]"]),
        ({"parts": [{"text": "a", "data": 1}]}, ["parts[0]"]),
        ({"parts": [{"text": "a"}, {"raw": "no base64!"}]}, ["parts[1].raw"]),
        ({"parts": [{"text": 1}]}, ["parts[0].text"]),
        ({"metadata": []}, ["metadata"]),
        ({"messageId": "", "role": "x", "parts": [{}]}, ["messageId", "role", "parts[0]"]),
    ],
)
def test_every_field_that_is_wrong_is_named(change: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(Fault) as caught:
        read({**MESSAGE, **change})
    assert caught.value.kind == "invalid-params"
    assert [violation.field for violation in caught.value.violations] == [f"message.{field}" for field in fields]


def test_a_task_shows_its_state_what_it_made_and_what_was_said() -> None:
    body = V10.encode_task(TASK)
    assert body["status"] == {
        "state": "TASK_STATE_COMPLETED",
        "timestamp": STAMP,
        "message": V10.encode_message(ANSWER, "t-1", "c-1"),
    }
    assert [one["messageId"] for one in body["history"]] == ["m-1", "m-2"]
    assert body["history"][0]["taskId"] == "t-1"
    assert body["artifacts"][0] == {
        "artifactId": "a-1",
        "name": "report",
        "parts": [{"text": "chunk-1 "}, {"text": "chunk-2"}],
    }
    assert body["artifacts"][1] == {"artifactId": "a-2", "parts": [{"data": [1, BIG]}], "metadata": {"by": "hand"}}
    assert (body["id"], body["contextId"], body["metadata"]) == ("t-1", "c-1", {"k": 1})


@pytest.mark.parametrize(("length", "shown"), [(None, 2), (0, 0), (1, 1), (2, 2), (99, 2)])
def test_the_history_is_as_long_as_asked(length: int | None, shown: int) -> None:
    assert len(V10.encode_task(TASK, length).get("history", [])) == shown


def test_what_is_empty_is_not_written() -> None:
    bare = Task(id="t", context_id="c", agent="a", owner="o", dialect="1.0")
    assert set(V10.encode_task(bare)) == {"id", "contextId", "status"}
    assert "artifacts" not in V10.encode_task(TASK, artifacts=False)


def test_events_become_stream_responses_and_a_users_turn_none() -> None:
    told = [V10.encode_event(event, "t-1", "c-1") for event in EVENTS]
    assert [None if one is None else next(iter(one)) for one in told] == [
        "statusUpdate",
        None,
        "statusUpdate",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    first, _, _, between, chunk, whole, last = told
    assert first is not None
    assert first["statusUpdate"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert between is not None
    assert between["statusUpdate"]["status"]["message"]["messageId"] == "m-2"
    assert chunk is not None
    assert (chunk["artifactUpdate"]["append"], "lastChunk" in chunk["artifactUpdate"]) == (True, False)
    assert whole is not None
    assert (whole["artifactUpdate"]["lastChunk"], "append" in whole["artifactUpdate"]) == (True, False)
    assert whole["artifactUpdate"]["metadata"] == {"m": BIG}
    assert last is not None
    assert last["statusUpdate"] == {
        "taskId": "t-1",
        "contextId": "c-1",
        "status": {
            "state": "TASK_STATE_COMPLETED",
            "timestamp": STAMP,
            "message": V10.encode_message(ANSWER, "t-1", "c-1"),
        },
        "metadata": {"z": 0},
    }


def test_a_push_config_is_read_and_written() -> None:
    body = {
        "id": "p",
        "taskId": "t-1",
        "url": "https://hook.example/",
        "token": "s",
        "authentication": {"scheme": "Bearer", "credentials": "c"},
    }
    config = V10.decode_set_push(Raw(json.dumps(body).encode())).config
    assert (config.scheme, config.credentials, config.token, config.dialect) == ("Bearer", "c", "s", "1.0")
    assert V10.encode_push(config, "t-1") == body


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PARTS = st.one_of(
    st.builds(lambda text: Part(text=text), st.text()),
    st.builds(lambda data, name: Part(data=data, filename=name), JSON, st.none() | st.text(min_size=1)),
    st.builds(lambda url: Part(url=url), st.text(min_size=1)),
)


@given(st.lists(PARTS, min_size=1, max_size=4), st.none() | st.dictionaries(st.text(), JSON, min_size=1, max_size=3))
def test_no_value_changes_on_its_way_through(parts: list[Part], metadata: dict[str, Any] | None) -> None:
    message = Message(id="m", role="agent", parts=tuple(parts), metadata=metadata)
    assert read(V10.encode_message(message, None, None)) == message
