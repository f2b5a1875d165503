"""The AgentVault profile on the wire, and the object it shares with A2A 0.3."""

import json
import time
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from pentad.rooms.agents.codecs import agentvault
from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.agentvault import AgentVaultCodec, SharedCodec
from pentad.rooms.agents.codecs.base import parse_time
from pentad.rooms.agents.codecs.errors import Fault
from pentad.rooms.agents.models import STATES, Artifact, ArtifactEvent, Event, Message, Part, StatusEvent
from tests.rooms.agents.codecs.samples import AT, BIG, EVENTS, STAMP, TASK, file_url, without

CODEC = AgentVaultCodec(file_url)
MESSAGE = {
    "role": "user",
    "parts": [
        {"type": "text", "content": "Refactor the attached script."},
        {
            "type": "file",
            "url": "https://files.example/script.py",
            "mediaType": "text/x-python",
            "filename": "script.py",
        },
        {"type": "data", "content": {"exact": BIG}, "mediaType": "application/json"},
    ],
    "metadata": {"client_request_id": "r", "mcp_context": {"items": {"empty": {}, "n": {"content": BIG}}}},
}


def read(body: Any) -> Message:
    return CODEC.decode_send(Raw(json.dumps({"message": body}).encode())).message


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_time_without_an_offset_is_in_utc_wherever_the_server_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert parse_time("2026-01-02T03:04:05") == parse_time("2026-01-02T03:04:05Z")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_message_gets_an_id_and_is_written_back_the_same() -> None:
    found = read(MESSAGE)
    assert found.id
    assert found.id != read(MESSAGE).id
    assert CODEC.encode_message(found, "t") == MESSAGE


def test_without_a_type_the_shape_of_a_part_tells() -> None:
    parts = [{"content": "x"}, {"content": {}}, {"url": "https://x.example/"}]
    assert [part["type"] for part in CODEC.encode_message(read({**MESSAGE, "parts": parts}), "t")["parts"]] == [
        "text",
        "data",
        "file",
    ]


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_a_role_the_others_have_no_word_for_comes_back(role: str) -> None:
    found = read({**MESSAGE, "role": role})
    assert found.role == "agent"
    assert found.metadata is not None
    assert found.metadata["av_role"] == role
    assert CODEC.encode_message(found, "t") == {**MESSAGE, "role": role}
    plain = read({**without(MESSAGE, "metadata"), "role": role})
    assert CODEC.encode_message(plain, "t")["metadata"] is None


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"role": "agent"}, ["role"]),
        ({"parts": []}, ["parts"]),
        ({"parts": [{"type": "text", "content": {}}]}, ["parts[0]"]),
        ({"parts": [{"type": "data", "content": [1]}]}, ["parts[0]"]),
        ({"parts": [{"type": "file", "url": "s3://bucket/x"}]}, ["parts[0]"]),
        ({"parts": [{"type": "file", "url": "http://["}]}, ["parts[0]"]),
        ({"parts": [{"type": "video", "content": "x"}]}, ["parts[0]"]),
        ({"parts": [{}]}, ["parts[0]"]),
        ({"metadata": "x"}, ["metadata"]),
    ],
)
def test_every_field_that_is_wrong_is_named(change: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(Fault) as caught:
        read({**MESSAGE, **change})
    assert [violation.field for violation in caught.value.violations] == [f"message.{field}" for field in fields]


def test_a_task_has_every_member_the_profile_requires() -> None:
    body = CODEC.encode_task(TASK)
    assert set(body) == {"id", "state", "createdAt", "updatedAt", "messages", "artifacts", "metadata"}
    assert (body["state"], body["updatedAt"]) == ("COMPLETED", STAMP)
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "assistant"]
    assert body["messages"][0]["parts"][3]["url"] == file_url("t-1", "m-1", 3)


def test_artifacts_are_told_from_their_first_part() -> None:
    text, data, file = (CODEC.encode_artifact(one, "t-1") for one in TASK.artifacts)
    assert (text["type"], text["content"], text["metadata"]) == ("text", "chunk-1 chunk-2", {"name": "report"})
    assert (data["type"], data["content"], data["mediaType"]) == ("data", [1, BIG], "application/json")
    assert data["metadata"] == {"by": "hand"}
    assert (file["type"], file["content"], file["url"]) == ("file", None, file_url("t-1", "a 3", 0))
    assert (file["mediaType"], file["metadata"]) == ("text/plain", None)
    assert CODEC.encode_artifact(Artifact(id="e", parts=()), "t")["content"] is None


def test_every_state_has_a_word() -> None:
    words = {state: CODEC.encode_frames(Event(1, AT, StatusEvent(state)), "t", "c")[0][1]["state"] for state in STATES}
    assert words["rejected"] == "FAILED"
    assert words["auth-required"] == "INPUT_REQUIRED"
    assert set(words.values()) == {"SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED", "CANCELED"}


def test_events_have_names_and_a_status_tells_its_message_first() -> None:
    told = [CODEC.encode_frames(event, "t-1", "c") for event in EVENTS]
    assert [[name for name, _ in one] for one in told] == [
        ["task_status"],
        [],
        ["task_message", "task_status"],
        ["task_message"],
        ["task_artifact"],
        ["task_artifact"],
        ["task_message", "task_status"],
    ]
    assert told[0][0][1] == {
        "taskId": "t-1",
        "state": "SUBMITTED",
        "timestamp": "2025-06-15T15:06:38.125Z",
        "message": None,
    }
    assert told[2][1][1]["message"] == "Working\non it"
    assert told[6][0][1]["message"]["parts"] == [{"type": "text", "content": "Done."}]


def test_data_that_is_no_object_is_wrapped() -> None:
    assert CODEC.encode_part(Part(data=BIG), "t", "m", 0)["content"] == {"value": BIG}


def test_a_webhook_has_to_be_an_address() -> None:
    assert agentvault.push_of("https://hook.example/x").dialect == "agentvault"
    with pytest.raises(Fault) as caught:
        agentvault.push_of("file:///etc/passwd")
    assert caught.value.violations[0].field == "webhookUrl"


def test_the_shared_object_has_what_both_require() -> None:
    shared = SharedCodec(file_url, "a2a")
    body = shared.encode_task(TASK)
    theirs, ours = CODEC.encode_task(TASK), V03.encode_task(TASK)
    for name in ("state", "createdAt", "updatedAt", "messages"):
        assert body[name] == theirs[name]
    for name in ("kind", "contextId", "status", "history"):
        assert body[name] == ours[name]
    for both, one, other in zip(body["artifacts"], theirs["artifacts"], ours["artifacts"], strict=True):
        assert {**one, **other} == both
    assert shared.encode_canceled(TASK)["success"] is False


def test_chunks_say_that_they_are_and_are_read_as_such() -> None:
    made = Artifact(id="out", parts=(Part(text="b"),), name="out")
    [(name, body)] = CODEC.encode_frames(Event(3, 1.0, ArtifactEvent(made, append=True, last=False)), "t", "c")

    assert body["artifact"]["metadata"] == {"name": "out", "append": True, "lastChunk": False}
    update = CODEC.decode_frame(name, json.dumps(body).encode())
    assert update is not None
    assert update.body == ArtifactEvent(replace(made, metadata={"name": "out"}), append=True, last=False)
