"""Messages, contexts and exceptions as the original has them, without its traps."""

import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

import pentad.agentvault
from pentad.agentvault import (
    A2AError,
    A2ARemoteAgentError,
    AgentCardFetchError,
    AgentVaultError,
    Artifact,
    DataPart,
    FilePart,
    Message,
    TextPart,
    exceptions,
    format_mcp_context,
    get_mcp_context,
    mcp_utils,
)
from pentad.agentvault.models import Task, TaskCancelResult, TaskStatusUpdateEvent
from tests.rooms.agents.context.cases import DOCUMENT

NAN = float("nan")
FULL: dict[str, Any] = {
    "items": {
        **DOCUMENT["items"],
        "instruction": {"mediaType": "text/plain", "content": "Focus.", "id": "instr-001"},
        "empty": {},
        "": {"content": None},
    }
}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (FULL, FULL),
        ({}, {}),
        ({"user_pref": "celsius"}, {}),
        ({"items": {}}, {"items": {}}),
        ({"items": {"a": {"id": None, "media_type": "x", "odd": 1}}}, {"items": {"a": {"id": None}}}),
        ({"items": {"a": {"content": NAN}}}, {"items": {"a": {"content": None}}}),
        ({"items": {"a": {"content": {"n": [NAN]}}}}, {"items": {"a": {"content": {"n": [None]}}}}),
        ({"items": {"a": {"content": b"text"}}}, {"items": {"a": {"content": "text"}}}),
        ({"items": {"a": {"content": {1}}}}, {"items": {"a": {"content": [1]}}}),
        ({"items": {"a": {"content": (1, 2)}}}, {"items": {"a": {"content": [1, 2]}}}),
        ({"items": {"a": {"content": {1: 2}}}}, {"items": {"a": {"content": {"1": 2}}}}),
        ({"items": {"a": {"content": 2**80}}}, {"items": {"a": {"content": 2**80}}}),
        ({"items": {"a": {"content": "both", "ref": "x"}}}, {"items": {"a": {"content": "both", "ref": "x"}}}),
        ({"items": []}, None),
        ({"items": None}, None),
        ({"items": {"a": "text"}}, None),
        ({"items": {"a": None}}, None),
        ({"items": {1: {}}}, None),
        ({"items": {"a": {"mediaType": 123}}}, None),
        ({"items": {"a": {"metadata": [1]}}}, None),
        ({"items": {"a": {"content": b"\xff"}}}, None),
        ({"items": {"a": {"content": object()}}}, None),
        (None, None),
        ([], None),
        ("text", None),
    ],
)
def test_a_context_is_formatted_as_the_original_does(given: Any, sent: Any):
    assert format_mcp_context(given) == sent


def test_a_long_context_is_formatted():
    long = {"items": {"a": {"content": "x" * 10_000_000}}}
    assert mcp_utils.format_mcp_context(long) == long


def test_what_formatting_logs_does_not_repeat_the_values(caplog: pytest.LogCaptureFixture):
    format_mcp_context({"items": {"a": {"mediaType": ["s3cret"]}}})
    assert "/items/a/mediaType" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        (None, None),
        ({}, None),
        ({"other": 1}, None),
        ({"mcp_context": None}, None),
        ({"mcp_context": "text"}, None),
        ({"mcp_context": []}, None),
        ({"mcp_context": {}}, {}),
        ({"mcp_context": {"anything": [1]}, "k": 1}, {"anything": [1]}),
    ],
)
def test_the_context_of_a_message_is_found_as_it_came(metadata: Any, found: Any):
    assert get_mcp_context(Message(role="user", parts=[TextPart(content="x")], metadata=metadata)) == found


@pytest.mark.parametrize("message", [None, object(), type("Odd", (), {"metadata": "text"})()])
def test_what_has_no_metadata_has_no_context(message: Any):
    assert get_mcp_context(message) is None


def test_a_file_keeps_the_type_it_is_given_by_either_name():
    by_name = FilePart.model_validate({"url": "https://a.example/f", "media_type": "text/csv"})
    by_alias = FilePart.model_validate({"url": "https://a.example/f", "mediaType": "text/csv"})
    assert by_name == by_alias
    assert by_name.model_dump(mode="json", by_alias=True) == {
        "type": "file",
        "url": "https://a.example/f",
        "mediaType": "text/csv",
        "filename": None,
    }


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"content": "x"}, "TextPart"),
        ({"content": {}}, "DataPart"),
        ({"url": "https://a.example/"}, "FilePart"),
        ({"type": "data", "content": {"n": 2**60}}, "DataPart"),
        ({"type": "odd", "content": "x"}, None),
        ({"type": "data", "content": [1]}, None),
        ({"type": "file", "url": "s3://a/b"}, None),
        ({"type": "text"}, None),
    ],
)
def test_parts_are_told_apart_by_type_or_shape(part: Any, kind: str | None):
    body = {"role": "user", "parts": [part]}
    if kind is None:
        with pytest.raises(ValidationError):
            Message.model_validate(body)
    else:
        assert type(Message.model_validate(body).parts[0]).__name__ == kind


@pytest.mark.parametrize("body", [{"role": "agent", "parts": [{"content": "x"}]}, {"role": "user", "parts": []}])
def test_a_message_has_a_known_role_and_parts(body: Any):
    with pytest.raises(ValidationError):
        Message.model_validate(body)


def test_messages_and_parts_cannot_be_changed():
    message = Message(role="user", parts=[DataPart(content={})])
    with pytest.raises(ValidationError):
        message.role = "tool"


@pytest.mark.parametrize("members", [{}, {"content": "x", "url": "https://a.example/"}])
def test_an_artifact_has_either_content_or_an_address(members: Any):
    with pytest.raises(ValidationError, match="either content or a url"):
        Artifact(id="a", type="x", **members)
    assert Artifact(id="a", type="x", content="x").url is None


def test_unknown_members_are_ignored_and_times_are_read():
    event = TaskStatusUpdateEvent.model_validate(
        {"task_id": "t", "state": "INPUT_REQUIRED", "timestamp": "2026-01-01T00:00:00.5Z", "odd": 1}
    )
    assert (event.task_id, event.timestamp.microsecond, event.message) == ("t", 500_000, None)
    assert TaskCancelResult.model_validate({}).success is True
    with pytest.raises(ValidationError):
        Task.model_validate({"id": "t", "state": "completed", "createdAt": "x", "updatedAt": "x"})


def test_the_tree_of_exceptions_is_the_original_one():
    tree = {
        name: kind.__mro__[1].__name__ if not kind.__mro__[1].__name__.startswith("_") else kind.__mro__[2].__name__
        for name, kind in vars(exceptions).items()
        if isinstance(kind, type) and name.endswith("Error")
    }
    assert issubclass(A2ARemoteAgentError, A2AError)
    assert issubclass(AgentCardFetchError, exceptions.AgentCardError)
    assert tree.pop("A2ARemoteAgentError") in ("A2AError", "AgentVaultError")
    assert tree.pop("AgentCardFetchError") in ("AgentCardError", "AgentVaultError")
    assert tree == {
        "AgentVaultError": "Exception",
        "AgentCardError": "AgentVaultError",
        "AgentCardValidationError": "AgentCardError",
        "A2AError": "AgentVaultError",
        "A2AConnectionError": "A2AError",
        "A2ATimeoutError": "A2AConnectionError",
        "A2AAuthenticationError": "A2AError",
        "A2AMessageError": "A2AError",
        "KeyManagementError": "AgentVaultError",
    }
    assert issubclass(A2ARemoteAgentError, AgentVaultError)


def test_an_error_shows_its_status_and_the_start_of_the_body():
    assert str(A2ARemoteAgentError("boom")) == "boom"
    assert str(AgentCardFetchError("boom", status_code=404, response_body="gone")) == (
        "boom (status_code=404, response_body='gone')"
    )
    assert str(A2ARemoteAgentError("boom", response_body="b" * 200)) == f"boom (response_body='{'b' * 99}...)"


def test_every_public_name_is_there():
    for name in pentad.agentvault.__all__:
        assert getattr(pentad.agentvault, name) is not None
    assert set(pentad.agentvault.__all__) <= set(dir(pentad.agentvault))
    with pytest.raises(AttributeError, match="nothing"):
        _ = pentad.agentvault.nothing


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, json, pentad.agentvault; print(json.dumps([m for m in sys.modules if '.' not in m]))"
    seen = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
    assert not {"pydantic", "aiohttp", "msgspec", "asyncio"} & set(seen)


def test_what_formatting_leaves_out_is_in_the_log(caplog: pytest.LogCaptureFixture):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    given = {"items": {"a": {"content": 1, "extra": 2, secret: 3}, "b": mcp_utils.MCPItem(content=4)}, "beside": 5}
    assert format_mcp_context(given) == {"items": {"a": {"content": 1}, "b": {"content": 4}}}
    for place in ("/beside", "/items/a/extra"):
        assert place in caplog.text
    assert secret not in caplog.text
    assert "/items/b" not in caplog.text
    caplog.clear()
    assert format_mcp_context({"items": {"a": {"content": 1}}}) is not None
    assert caplog.text == ""
