"""Members of A2A 1.0 by either of their names."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.rooms.agents.codecs import a2a_v10 as v10
from pentad.rooms.agents.codecs.errors import Fault
from tests.rooms.agents.codecs.samples import BIG

NAMES = {
    "messageId": "message_id", "contextId": "context_id", "taskId": "task_id", "mediaType": "media_type",
    "referenceTaskIds": "reference_task_ids", "acceptedOutputModes": "accepted_output_modes",
    "taskPushNotificationConfig": "task_push_notification_config", "historyLength": "history_length",
    "returnImmediately": "return_immediately",
}  # fmt: skip
OWN = {"task_id": BIG, "messageId": [{"history_length": 0}], "mcp_context": {"items": {"media_type": {}}}}
SENT = {
    "message": {
        "messageId": "m-1",
        "role": "ROLE_USER",
        "parts": [{"data": OWN, "mediaType": "application/json", "metadata": OWN}, {"text": 'a_id": "b_id"'}],
        "contextId": "c-1",
        "taskId": "t-1",
        "referenceTaskIds": ["t-0"],
        "metadata": OWN,
    },
    "configuration": {
        "acceptedOutputModes": ["text/plain"],
        "taskPushNotificationConfig": {"url": "https://example.com", "taskId": "t-1"},
        "historyLength": 3,
        "returnImmediately": True,
    },
    "metadata": OWN,
}


def raw(body: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(body, indent=1).encode())


def renamed(body: Any, names: set[str], *, own: bool = False) -> Any:
    """The same with some members under their other names; what is the caller's own stays."""
    if isinstance(body, list):
        return [renamed(one, names, own=own) for one in body]
    if not isinstance(body, dict) or own:
        return body
    return {
        NAMES[name] if name in names else name: renamed(value, names, own=name in ("metadata", "data"))
        for name, value in body.items()
    }


@given(st.sets(st.sampled_from(sorted(NAMES))))
def test_a_member_means_the_same_by_either_name_and_nothing_of_the_callers_is_touched(names: set[str]) -> None:
    assert v10.read_send(raw(renamed(SENT, names))) == v10.read_send(raw(SENT))


def test_every_request_is_read_by_either_name() -> None:
    listed = {"context_id": "c", "page_size": 2, "page_token": "p", "history_length": 1, "include_artifacts": True}
    found = v10.read_list(raw({**listed, "status_timestamp_after": "2026-01-01T00:00:00Z"}))
    assert msgspec.structs.asdict(found) == {
        **listed, "status": None, "tenant": None, "status_timestamp_after": "2026-01-01T00:00:00Z"
    }  # fmt: skip
    assert v10.read_query(raw({"id": "t", "history_length": 0})).history_length == 0
    assert v10.read_push(raw({"task_id": "t", "url": "u"})).task_id == "t"
    assert v10.read_push_query(raw({"task_id": "t", "id": "c"})).task_id == "t"


def test_a_member_under_both_names_is_refused() -> None:
    with pytest.raises(Fault, match=r"historyLength: It is given twice"):
        v10.read_query(raw({"id": "t", "historyLength": 1, "history_length": 1}))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"history_length": 1}, "params"),
        ([{"history_length": 1}], "params"),
        ({"id": "t", "history_length": "many"}, "historyLength"),
    ],
)
def test_what_is_wrong_is_told_by_the_name_it_is_written_by(body: Any, field: str) -> None:
    with pytest.raises(Fault) as caught:
        v10.read_query(raw(body))
    assert [one.field for one in caught.value.violations] == [field]
