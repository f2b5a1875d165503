"""A2A 0.3: `kind` says what an object is, states are lower case, `final` ends a stream."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from pentad.kernel.clock import iso
from pentad.rooms.agents.dialects.errors import Violation
from pentad.rooms.agents.dialects.reading import is_base64, typed, wrong
from pentad.rooms.agents.dialects.v10 import addressed, labelled, shown_history
from pentad.rooms.agents.tasks.model import (
    Artifact,
    ArtifactEvent,
    Event,
    Json,
    Message,
    MessageEvent,
    Part,
    PushConfig,
    Role,
    Task,
)
from pentad.rooms.agents.tasks.states import RESTING, State

_ROLES: Final[dict[str, Role]] = {"user": "user", "agent": "agent"}
_USUAL: Final = frozenset({None, "text/plain", "application/json"})

Text = str | None


class FileIn(Struct, rename="camel"):
    """A file by bytes or by address."""

    bytes: Text = None
    uri: Text = None
    name: Text = None
    mime_type: Text = None


class PartIn(Struct, rename="camel"):
    """A part as it comes; without `kind` its members tell."""

    kind: Text = None
    text: Text = None
    file: FileIn | None = None
    data: Any = UNSET
    metadata: Json | None = None


class MessageIn(Struct, rename="camel"):
    """A message as it comes."""

    message_id: str
    role: str
    parts: list[PartIn]
    kind: Text = None
    context_id: Text = None
    task_id: Text = None
    metadata: Json | None = None
    extensions: list[str] | None = None
    reference_task_ids: list[str] | None = None


class AuthenticationIn(Struct):
    """How the receiver of a notification wants to be called."""

    schemes: list[str]
    credentials: Text = None


class PushConfigIn(Struct):
    """Where to send notifications."""

    url: str
    id: Text = None
    token: Text = None
    authentication: AuthenticationIn | None = None


class ConfigurationIn(Struct, rename="camel"):
    """How the caller wants to be answered."""

    accepted_output_modes: list[str] | None = None
    push_notification_config: PushConfigIn | None = None
    history_length: int | None = None
    blocking: bool | None = None


class SendIn(Struct, rename="camel"):
    """message/send and message/stream."""

    message: MessageIn
    configuration: ConfigurationIn | None = None
    metadata: Json | None = None


class TaskIn(Struct, rename="camel"):
    """tasks/get, tasks/cancel and tasks/resubscribe."""

    id: str
    history_length: int | None = None
    metadata: Json | None = None


class SetConfigIn(Struct, rename="camel"):
    """tasks/pushNotificationConfig/set."""

    task_id: str
    push_notification_config: PushConfigIn


class ConfigIn(Struct, rename="camel"):
    """tasks/pushNotificationConfig/get, list and delete."""

    id: str
    push_notification_config_id: Text = None


SEND: Final = msgspec.json.Decoder(SendIn)
TASK: Final = msgspec.json.Decoder(TaskIn)
SET_CONFIG: Final = msgspec.json.Decoder(SetConfigIn)
CONFIG: Final = msgspec.json.Decoder(ConfigIn)
_MESSAGE: Final = msgspec.json.Decoder(MessageIn)


def read_message(raw: bytes) -> Message:
    """One message alone."""
    return message_of(typed(_MESSAGE, raw, "message"), "")


def message_of(wire: MessageIn, at: str = "message.") -> Message:
    """The canonical message; every field that is wrong is named."""
    problems: list[Violation] = []
    if not wire.message_id:
        problems.append(Violation(f"{at}messageId", "A message has an id."))
    role = _ROLES.get(wire.role)
    if role is None:
        problems.append(Violation(f"{at}role", "One of user and agent."))
    if wire.kind not in (None, "message"):
        problems.append(Violation(f"{at}kind", "It is a message."))
    if not wire.parts:
        problems.append(Violation(f"{at}parts", "A message has at least one part."))
    parts = [_part_of(part, f"{at}parts[{number}]", problems) for number, part in enumerate(wire.parts)]
    if problems or role is None:
        raise wrong(problems)
    return Message(
        id=wire.message_id,
        role=role,
        parts=tuple(parts),
        task_id=wire.task_id or None,
        context_id=wire.context_id or None,
        metadata=wire.metadata,
        extensions=tuple(wire.extensions or ()),
        references=tuple(wire.reference_task_ids or ()),
    )


def _part_of(wire: PartIn, at: str, problems: list[Violation]) -> Part:
    kind = wire.kind or ("text" if wire.text is not None else "file" if wire.file is not None else "data")
    if kind == "text" and wire.text is not None:
        return Part(text=wire.text, metadata=wire.metadata)
    if kind == "file" and wire.file is not None:
        return _file_of(wire.file, wire.metadata, f"{at}.file", problems)
    data: Any = wire.data
    if kind == "data" and isinstance(data, dict):
        return Part(data=data, metadata=wire.metadata)
    wanted = {"text": "a text", "file": "a file", "data": "an object in `data`"}.get(kind)
    said = f"A part of kind {kind} has {wanted}." if wanted else "A part is of kind text, file or data."
    problems.append(Violation(at, said))
    return Part(text="")


def _file_of(wire: FileIn, metadata: Json | None, at: str, problems: list[Violation]) -> Part:
    if (wire.bytes is None) == (wire.uri is None):
        problems.append(Violation(at, "A file has either bytes or a uri."))
    elif wire.bytes is not None and not is_base64(wire.bytes):
        problems.append(Violation(f"{at}.bytes", "Bytes are written in base64."))
    return Part(
        raw=UNSET if wire.bytes is None else wire.bytes,
        url=UNSET if wire.uri is None or wire.bytes is not None else wire.uri,
        filename=wire.name or None,
        media_type=wire.mime_type or None,
        metadata=metadata,
    )


def push_of(wire: PushConfigIn) -> PushConfig:
    """Where to tell of a task; tasks of this dialect are sent there."""
    who = wire.authentication
    return PushConfig(
        url=wire.url,
        dialect="0.3",
        id=wire.id or "",
        token=wire.token or None,
        scheme=who.schemes[0] if who and who.schemes else None,
        credentials=who.credentials if who else None,
    )


def part(value: Part) -> Json:
    metadata = value.metadata
    if value.text is not UNSET:
        body: Json = {"kind": "text", "text": value.text}
    elif value.data is not UNSET:
        data: Any = value.data
        body = {"kind": "data", "data": data if isinstance(data, dict) else {"value": data}}
    else:
        file: Json = {"bytes": value.raw} if value.raw is not UNSET else {"uri": value.url}
        if value.filename is not None:
            file["name"] = value.filename
        if value.media_type is not None:
            file["mimeType"] = value.media_type
        body = {"kind": "file", "file": file}
    if "file" not in body and value.media_type not in _USUAL:
        metadata = {"mediaType": value.media_type, **(metadata or {})}
    if metadata:
        body["metadata"] = metadata
    return body


def message(value: Message, task_id: str | None, context_id: str | None) -> Json:
    body: Json = {
        "kind": "message",
        "messageId": value.id,
        "role": value.role,
        "parts": [part(one) for one in value.parts],
    }
    return addressed(body, value, task_id, context_id)


def artifact(value: Artifact) -> Json:
    return labelled([part(one) for one in value.parts], value)


def task(value: Task, history_length: int | None = None) -> Json:
    body: Json = {
        "kind": "task",
        "id": value.id,
        "contextId": value.context_id,
        "status": _status(value.state, value.status_message, value.status_at, value.id, value.context_id),
    }
    if value.artifacts:
        body["artifacts"] = [artifact(one) for one in value.artifacts]
    if history := shown_history(value, history_length):
        body["history"] = [message(one, value.id, value.context_id) for one in history]
    if value.metadata:
        body["metadata"] = value.metadata
    return body


def event(value: Event, task_id: str, context_id: str) -> Json | None:
    """What a stream says of an event; None for what it has no word for."""
    body = value.body
    named: Json = {"taskId": task_id, "contextId": context_id}
    if isinstance(body, ArtifactEvent):
        update = {"kind": "artifact-update", **named, "artifact": artifact(body.artifact)}
        update["append"], update["lastChunk"] = body.append, body.last
    elif isinstance(body, MessageEvent):
        if body.message.role == "user":
            return None
        status = _status("working", body.message, value.at, task_id, context_id)
        return {"kind": "status-update", **named, "status": status, "final": False}
    else:
        status = _status(body.state, body.message, value.at, task_id, context_id)
        update = {"kind": "status-update", **named, "status": status, "final": body.state in RESTING}
    if body.metadata:
        update["metadata"] = body.metadata
    return update


def _status(state: State, said: Message | None, at: float, task_id: str, context_id: str) -> Json:
    body: Json = {"state": state, "timestamp": iso(at)}
    if said is not None:
        body["message"] = message(said, task_id, context_id)
    return body


def push(value: PushConfig, task_id: str) -> Json:
    config: Json = {"id": value.id, "url": value.url}
    if value.token is not None:
        config["token"] = value.token
    if value.scheme is not None:
        who: Json = {"schemes": [value.scheme]}
        if value.credentials is not None:
            who["credentials"] = value.credentials
        config["authentication"] = who
    return {"taskId": task_id, "pushNotificationConfig": config}
