"""A2A 1.0: the JSON of its protocol buffers, written and read by hand so that numbers and depth survive."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from pentad.kernel.clock import iso
from pentad.rooms.agents.dialects.errors import Violation
from pentad.rooms.agents.dialects.protojson import Reader
from pentad.rooms.agents.dialects.reading import is_base64, typed, wrong
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
    StatusEvent,
    Task,
)
from pentad.rooms.agents.tasks.states import STATES, State

STATE_NAMES: Final[dict[State, str]] = {state: "TASK_STATE_" + state.upper().replace("-", "_") for state in STATES}
STATES_BY_NAME: Final[dict[str, State]] = {name: state for state, name in STATE_NAMES.items()}
ROLE_NAMES: Final[dict[Role, str]] = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
_ROLES: Final[dict[str, Role]] = {"ROLE_USER": "user", "ROLE_AGENT": "agent", "user": "user", "agent": "agent"}

Text = str | None


class PartIn(Struct, rename="camel"):
    """A part as it comes: exactly one of text, raw, url and data."""

    text: Text | UnsetType = UNSET
    raw: Text | UnsetType = UNSET
    url: Text | UnsetType = UNSET
    data: Any = UNSET
    metadata: Json | None = None
    filename: Text = None
    media_type: Text = None


class MessageIn(Struct, rename="camel"):
    """A message as it comes."""

    message_id: str
    role: str
    parts: list[PartIn]
    context_id: Text = None
    task_id: Text = None
    metadata: Json | None = None
    extensions: list[str] | None = None
    reference_task_ids: list[str] | None = None


class AuthenticationIn(Struct):
    """How the receiver of a notification wants to be called."""

    scheme: str
    credentials: Text = None


class PushConfigIn(Struct, rename="camel"):
    """A push notification config, alone or with the task it is for."""

    url: str
    id: Text = None
    task_id: Text = None
    token: Text = None
    authentication: AuthenticationIn | None = None
    tenant: Text = None


class ConfigurationIn(Struct, rename="camel"):
    """How the caller wants to be answered."""

    accepted_output_modes: list[str] | None = None
    task_push_notification_config: PushConfigIn | None = None
    history_length: int | None = None
    return_immediately: bool | None = None


class SendIn(Struct, rename="camel"):
    """SendMessage and SendStreamingMessage."""

    message: MessageIn
    configuration: ConfigurationIn | None = None
    metadata: Json | None = None
    tenant: Text = None


class TaskIn(Struct, rename="camel"):
    """GetTask, CancelTask and SubscribeToTask."""

    id: str
    history_length: int | None = None
    tenant: Text = None


class ListIn(Struct, rename="camel"):
    """ListTasks."""

    context_id: Text = None
    status: Text = None
    page_size: int | None = None
    page_token: Text = None
    history_length: int | None = None
    status_timestamp_after: Text = None
    include_artifacts: bool | None = None
    tenant: Text = None


class ConfigIn(Struct, rename="camel"):
    """Get, list and delete push notification configs."""

    task_id: str
    id: Text = None
    page_size: int | None = None
    page_token: Text = None
    tenant: Text = None


class TenantIn(Struct):
    """GetExtendedAgentCard."""

    tenant: Text = None


read_send: Final = Reader(SendIn)
read_task: Final = Reader(TaskIn)
read_list: Final = Reader(ListIn)
read_push: Final = Reader(PushConfigIn)
read_config: Final = Reader(ConfigIn)
read_tenant: Final = Reader(TenantIn)
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
        problems.append(Violation(f"{at}role", "One of ROLE_USER and ROLE_AGENT."))
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
    text, raw, url = wire.text or "", wire.raw or "", wire.url or ""
    given = [isinstance(wire.text, str), isinstance(wire.raw, str), isinstance(wire.url, str), wire.data is not UNSET]
    if given.count(True) != 1:
        problems.append(Violation(at, "A part has exactly one of text, raw, url and data."))
    elif given[1] and not is_base64(str(raw)):
        problems.append(Violation(f"{at}.raw", "Bytes are written in base64."))
    return Part(
        text=text if given[0] else UNSET,
        raw=raw if given[1] else UNSET,
        url=url if given[2] else UNSET,
        data=wire.data,
        filename=wire.filename or None,
        media_type=wire.media_type or None,
        metadata=wire.metadata,
    )


def push_of(wire: PushConfigIn) -> PushConfig:
    """Where to tell of a task; StreamResponses are sent there."""
    who = wire.authentication
    return PushConfig(
        url=wire.url,
        dialect="1.0",
        id=wire.id or "",
        token=wire.token or None,
        scheme=who.scheme if who else None,
        credentials=who.credentials if who else None,
    )


def part(value: Part) -> Json:
    body: Json = {}
    if value.text is not UNSET:
        body["text"] = value.text
    elif value.raw is not UNSET:
        body["raw"] = value.raw
    elif value.url is not UNSET:
        body["url"] = value.url
    else:
        body["data"] = value.data
    if value.filename is not None:
        body["filename"] = value.filename
    if value.media_type is not None:
        body["mediaType"] = value.media_type
    if value.metadata:
        body["metadata"] = value.metadata
    return body


def message(value: Message, task_id: str | None, context_id: str | None) -> Json:
    body: Json = {
        "messageId": value.id,
        "role": ROLE_NAMES[value.role],
        "parts": [part(one) for one in value.parts],
    }
    return addressed(body, value, task_id, context_id)


def addressed(body: Json, value: Message, task_id: str | None, context_id: str | None) -> Json:
    """What a message has in common in 0.3 and 1.0: where it belongs, and what it carries along."""
    if context := value.context_id or context_id:
        body["contextId"] = context
    if task := value.task_id or task_id:
        body["taskId"] = task
    if value.metadata:
        body["metadata"] = value.metadata
    if value.extensions:
        body["extensions"] = value.extensions
    if value.references:
        body["referenceTaskIds"] = value.references
    return body


def artifact(value: Artifact) -> Json:
    return labelled([part(one) for one in value.parts], value)


def labelled(parts: list[Json], value: Artifact) -> Json:
    """An artifact around its parts, the same in 0.3 and 1.0."""
    body: Json = {"artifactId": value.id, "parts": parts}
    if value.name is not None:
        body["name"] = value.name
    if value.description is not None:
        body["description"] = value.description
    if value.metadata:
        body["metadata"] = value.metadata
    if value.extensions:
        body["extensions"] = value.extensions
    return body


def task(value: Task, history_length: int | None = None, *, artifacts: bool = True) -> Json:
    """A task; empty lists are left out, and so is a history nobody asked for."""
    body: Json = {
        "id": value.id,
        "contextId": value.context_id,
        "status": _status(value.state, value.status_message, value.status_at, value.id, value.context_id),
    }
    if artifacts and value.artifacts:
        body["artifacts"] = [artifact(one) for one in value.artifacts]
    if history := shown_history(value, history_length):
        body["history"] = [message(one, value.id, value.context_id) for one in history]
    if value.metadata:
        body["metadata"] = value.metadata
    return body


def shown_history(value: Task, length: int | None) -> list[Message]:
    """The latest messages, without the one that the status shows already."""
    history = value.history
    if history and value.status_message is not None and history[-1].id == value.status_message.id:
        history = history[:-1]
    return history if length is None else history[-length:] if length > 0 else []


def event(value: Event, task_id: str, context_id: str) -> Json | None:
    """What a stream or a notification says of an event; None for what it has no word for."""
    body = value.body
    if isinstance(body, ArtifactEvent):
        update: Json = {"taskId": task_id, "contextId": context_id, "artifact": artifact(body.artifact)}
        if body.append:
            update["append"] = True
        if body.last:
            update["lastChunk"] = True
        if body.metadata:
            update["metadata"] = body.metadata
        return {"artifactUpdate": update}
    if isinstance(body, MessageEvent):
        if body.message.role == "user":
            return None
        status = _status("working", body.message, value.at, task_id, context_id)
        return {"statusUpdate": {"taskId": task_id, "contextId": context_id, "status": status}}
    return {"statusUpdate": _status_update(body, value.at, task_id, context_id)}


def _status_update(body: StatusEvent, at: float, task_id: str, context_id: str) -> Json:
    status = _status(body.state, body.message, at, task_id, context_id)
    update: Json = {"taskId": task_id, "contextId": context_id, "status": status}
    if body.metadata:
        update["metadata"] = body.metadata
    return update


def _status(state: State, said: Message | None, at: float, task_id: str, context_id: str) -> Json:
    body: Json = {"state": STATE_NAMES[state], "timestamp": iso(at)}
    if said is not None:
        body["message"] = message(said, task_id, context_id)
    return body


def push(value: PushConfig, task_id: str) -> Json:
    body: Json = {"id": value.id, "taskId": task_id, "url": value.url}
    if value.token is not None:
        body["token"] = value.token
    if value.scheme is not None:
        body["authentication"] = {"scheme": value.scheme}
        if value.credentials is not None:
            body["authentication"]["credentials"] = value.credentials
    return body
