"""Answers and events of AgentVault peers as the canonical task, and messages as they take them."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.client.a2a_wire import Update, seconds
from pentad.rooms.agents.dialects import agentvault
from pentad.rooms.agents.tasks.model import (
    Artifact,
    ArtifactEvent,
    Json,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
)
from pentad.rooms.agents.tasks.states import State

STATES: Final[dict[str, State]] = {
    "SUBMITTED": "submitted",
    "WORKING": "working",
    "INPUT_REQUIRED": "input-required",
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELED": "canceled",
}


class ArtifactIn(Struct, rename="camel"):
    """Something the peer made: content or an address."""

    id: str
    type: str = ""
    content: Any = UNSET
    url: str | None = None
    media_type: str | None = None
    metadata: Json | None = None


class TaskIn(Struct, rename="camel"):
    """A task as a peer shows it."""

    id: str
    state: str
    created_at: str | None = None
    updated_at: str | None = None
    context_id: str | None = None
    messages: list[agentvault.MessageIn] = []
    artifacts: list[ArtifactIn] = []
    metadata: Json | None = None


class StatusIn(Struct, rename="camel"):
    """task_status."""

    task_id: str
    state: str
    timestamp: str | None = None
    message: str | None = None


class MessageEventIn(Struct, rename="camel"):
    """task_message."""

    task_id: str
    message: agentvault.MessageIn
    timestamp: str | None = None


class ArtifactEventIn(Struct, rename="camel"):
    """task_artifact."""

    task_id: str
    artifact: ArtifactIn
    timestamp: str | None = None


class CancelIn(Struct):
    """The answer to a cancel."""

    success: bool = True
    message: str | None = None


class SentIn(Struct):
    """The answer to a send."""

    id: str


SENT: Final = msgspec.json.Decoder(SentIn)
CANCELED: Final = msgspec.json.Decoder(CancelIn)
_TASK: Final = msgspec.json.Decoder(TaskIn)
_STATUS: Final = msgspec.json.Decoder(StatusIn)
_MESSAGE: Final = msgspec.json.Decoder(MessageEventIn)
_ARTIFACT: Final = msgspec.json.Decoder(ArtifactEventIn)


def task(raw: bytes, agent: str) -> Task:
    """The result of `tasks/get`."""
    wire = _TASK.decode(raw)
    history = [agentvault.message_of(one, "") for one in wire.messages]
    updated = seconds(wire.updated_at)
    return Task(
        id=wire.id,
        context_id=wire.context_id or wire.id,
        agent=agent,
        owner="",
        dialect="agentvault",
        state=_state(wire.state),
        status_at=updated,
        created_at=seconds(wire.created_at),
        updated_at=updated,
        history=history,
        artifacts=[_artifact(one) for one in wire.artifacts],
        metadata=wire.metadata,
    )


def update(name: str, raw: bytes) -> Update | None:
    """One event by its name; None for one of a name nobody knows."""
    if name == "task_status":
        status = _STATUS.decode(raw)
        body = StatusEvent(_state(status.state), _said(status.message))
        return Update(status.task_id, status.task_id, body, seconds(status.timestamp))
    if name in ("task_message", "message"):
        said = _MESSAGE.decode(raw)
        message = MessageEvent(agentvault.message_of(said.message, ""))
        return Update(said.task_id, said.task_id, message, seconds(said.timestamp))
    if name == "task_artifact":
        made = _ARTIFACT.decode(raw)
        said = made.artifact.metadata or {}
        appends, last = said.get(agentvault.APPEND_KEY) is True, said.get(agentvault.LAST_KEY) is not False
        artifact = ArtifactEvent(_artifact(made.artifact), append=appends, last=last)
        return Update(made.task_id, made.task_id, artifact, seconds(made.timestamp))
    return None


def sent(message: Message) -> Json:
    """A message as `tasks/send` takes it."""
    body = _writer.message(message, "")
    parts = [{name: value for name, value in part.items() if value is not None} for part in body["parts"]]
    found = {**body, "parts": parts}
    if found["metadata"] is None:
        del found["metadata"]
    return found


def _no_bytes(task_id: str, holder: str, number: int) -> str:
    raise InvalidInput(
        f"Part {number} of the message is a file's bytes, which AgentVault agents do not take.",
        hint="Give the address of the file.",
    )


_writer: Final = agentvault.Writer(_no_bytes)


def _state(name: str) -> State:
    state = STATES.get(name)
    if state is None:
        raise msgspec.ValidationError(f"a state that is not known: {name[:40]!r}")
    return state


def _said(text: str | None) -> Message | None:
    if not text:
        return None
    part = agentvault.PartIn(type="text", content=text)
    return agentvault.message_of(agentvault.MessageIn(role="assistant", parts=[part]), "")


def _artifact(wire: ArtifactIn) -> Artifact:
    name = (wire.metadata or {}).get("name")
    return Artifact(
        id=wire.id,
        parts=_parts(wire),
        name=name if isinstance(name, str) else wire.type or None,
        metadata={key: value for key, value in (wire.metadata or {}).items() if key not in agentvault.CHUNK_KEYS}
        or None,
    )


def _parts(wire: ArtifactIn) -> tuple[Part, ...]:
    content = wire.content
    if wire.url is not None and (content is UNSET or content is None):
        return (Part(url=wire.url, media_type=wire.media_type),)
    if content is UNSET or content is None:
        return ()
    if isinstance(content, str):
        return (Part(text=content, media_type=wire.media_type),)
    return (Part(data=content, media_type=wire.media_type),)
