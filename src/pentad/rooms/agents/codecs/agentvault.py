"""AgentVault: upper-case states, `content` for text and data, files only by URL, named events.

What AgentVault cannot express is translated: a rejected task becomes failed, a task that needs a login becomes one that
needs input, file bytes get a URL on this server, and data that is not an object is wrapped in one.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7_text
from pentad.rooms.agents.codecs.a2a_v03 import V03
from pentad.rooms.agents.codecs.base import (
    Codec,
    EventFrame,
    Operation,
    SendRequest,
    TaskQuery,
    Update,
    methods_of,
    parse_state,
    parse_time,
)
from pentad.rooms.agents.codecs.errors import Fault, Violation, rpc_error
from pentad.rooms.agents.codecs.json_rpc import invalid_params, typed
from pentad.rooms.agents.models import (
    Artifact,
    ArtifactEvent,
    Dialect,
    Event,
    Json,
    Message,
    MessageEvent,
    Part,
    PushConfig,
    State,
    StatusEvent,
    Task,
)

STATE_NAMES: Final[dict[State, str]] = {
    "submitted": "SUBMITTED",
    "working": "WORKING",
    "input-required": "INPUT_REQUIRED",
    "auth-required": "INPUT_REQUIRED",
    "completed": "COMPLETED",
    "failed": "FAILED",
    "canceled": "CANCELED",
    "rejected": "FAILED",
}
STATES_BY_NAME: Final[dict[str, State]] = {name: state for state, name in reversed(STATE_NAMES.items())}
_APPEND_KEY: Final = "append"
_LAST_KEY: Final = "lastChunk"
_ROLE_KEY: Final = "av_role"
"""Where a message keeps a role that only AgentVault has."""
_AGENT_ROLES: Final = frozenset({"assistant", "system", "tool"})
_JSON_TYPE: Final = "application/json"
_HTTP: Final = frozenset({"http", "https"})

FileUrl = Callable[[str, str, int], str]
"""The URL of a part's bytes: by task, by the message or artifact it is in, and by its position there."""
Text = str | None


class PartIn(Struct, rename="camel"):
    """A part. Without `type`, its members determine its kind."""

    type: Text = None
    content: Any = UNSET
    url: Text = None
    media_type: Text = None
    filename: Text = None


class MessageIn(Struct):
    """A message: without an id, without a context."""

    role: str
    parts: list[PartIn]
    metadata: Json | None = None


class SendIn(Struct, rename="camel"):
    """tasks/send."""

    message: MessageIn
    id: Text = None
    webhook_url: Text = None


class SubscribeIn(Struct):
    """tasks/sendSubscribe."""

    id: str
    metadata: Json | None = None


class ArtifactIn(Struct, rename="camel"):
    """An artifact: content or a URL."""

    id: str
    type: str = ""
    content: Any = UNSET
    url: Text = None
    media_type: Text = None
    metadata: Json | None = None


class TaskIn(Struct, rename="camel"):
    """A task."""

    id: str
    state: str
    created_at: Text = None
    updated_at: Text = None
    context_id: Text = None
    messages: list[MessageIn] = []
    artifacts: list[ArtifactIn] = []
    metadata: Json | None = None


class StatusIn(Struct, rename="camel"):
    """task_status."""

    task_id: str
    state: str
    timestamp: Text = None
    message: Text = None


class MessageEventIn(Struct, rename="camel"):
    """task_message."""

    task_id: str
    message: MessageIn
    timestamp: Text = None


class ArtifactEventIn(Struct, rename="camel"):
    """task_artifact."""

    task_id: str
    artifact: ArtifactIn
    timestamp: Text = None


class CanceledIn(Struct):
    """The result of tasks/cancel."""

    success: bool = True
    message: Text = None


class SentIn(Struct):
    """The result of tasks/send."""

    id: str


_SEND: Final = msgspec.json.Decoder(SendIn)
_SUBSCRIBE: Final = msgspec.json.Decoder(SubscribeIn)
_SENT: Final = msgspec.json.Decoder(SentIn)
_CANCELED: Final = msgspec.json.Decoder(CanceledIn)
_TASK: Final = msgspec.json.Decoder(TaskIn)
_STATUS: Final = msgspec.json.Decoder(StatusIn)
_MESSAGE_EVENT: Final = msgspec.json.Decoder(MessageEventIn)
_ARTIFACT_EVENT: Final = msgspec.json.Decoder(ArtifactEventIn)


def _no_file_url(task_id: str, holder: str, number: int) -> str:
    raise InvalidInput(
        f"Part {number} of the message contains the bytes of a file, which AgentVault agents do not take.",
        hint="Send the URL of the file instead.",
    )


class AgentVaultCodec(Codec):
    """The AgentVault profile over JSON-RPC. `file_url` says where the bytes of files are served."""

    dialect: ClassVar[Dialect] = "agentvault"
    methods: ClassVar[Mapping[Operation, str]] = methods_of("agentvault")
    has_message_ids: ClassVar[bool] = False
    replays_events: ClassVar[bool] = True
    named_events: ClassVar[bool] = True
    streams_errors: ClassVar[bool] = True
    reports_internal_status: bool = True

    def __init__(self, file_url: FileUrl = _no_file_url) -> None:
        self._file_url = file_url

    # Requests

    def decode_send(self, params: Raw) -> SendRequest:
        wire = typed(_SEND, params)
        message = replace(message_of(wire.message), task_id=wire.id)
        return SendRequest(message=message, wait=False, push=push_of(wire.webhook_url) if wire.webhook_url else None)

    def encode_send(self, request: SendRequest) -> Json:
        message = self.encode_message(request.message, "")
        message["parts"] = [_without_nulls(part) for part in message["parts"]]
        body: Json = {"message": _without_nulls(message)}
        if request.message.task_id is not None:
            body["id"] = request.message.task_id
        if request.push is not None:
            body["webhookUrl"] = request.push.url
        return body

    def decode_query(self, params: Raw) -> TaskQuery:
        wire = typed(_SUBSCRIBE, params)
        return TaskQuery(task_id=wire.id, metadata=wire.metadata)

    def encode_query(self, query: TaskQuery) -> Json:
        return {"id": query.task_id}

    # Results

    def encode_answer(self, answer: Task | Message, request: SendRequest) -> Json:
        return {"id": (answer.task_id or "") if isinstance(answer, Message) else answer.id}

    def decode_sent(self, raw: bytes) -> str:
        """The id of the task that a message started."""
        return _SENT.decode(raw).id

    def encode_task(self, task: Task, history_length: int | None = None) -> Json:
        return {
            "id": task.id,
            "state": STATE_NAMES[task.state],
            "createdAt": iso(task.created_at),
            "updatedAt": iso(task.updated_at),
            "messages": [self.encode_message(one, task.id) for one in task.history],
            "artifacts": [self.encode_artifact(one, task.id) for one in task.artifacts],
            "metadata": task.metadata,
        }

    def decode_task(self, raw: bytes) -> Task:
        wire = _TASK.decode(raw)
        updated = parse_time(wire.updated_at)
        return Task(
            id=wire.id,
            context_id=wire.context_id or wire.id,
            agent="",
            owner="",
            dialect=self.dialect,
            state=parse_state(wire.state, STATES_BY_NAME),
            status_at=updated,
            created_at=parse_time(wire.created_at),
            updated_at=updated,
            history=[message_of(one, "") for one in wire.messages],
            artifacts=[_artifact_of(one) for one in wire.artifacts],
            metadata=wire.metadata,
        )

    def encode_canceled(self, task: Task) -> Json:
        return {"success": True, "message": None}

    def encode_not_cancelable(self, task: Task, message: str) -> Json | None:
        return {"success": False, "message": message}

    def decode_canceled(self, raw: bytes) -> CanceledIn:
        return _CANCELED.decode(raw)

    # Parts, messages and artifacts

    def encode_part(self, part: Part, task_id: str, holder: str, number: int) -> Json:
        if part.text is not UNSET:
            return {"type": "text", "content": part.text}
        if part.data is not UNSET:
            data: Any = part.data
            content = cast("Json", data) if isinstance(data, dict) else {"value": data}
            return {"type": "data", "content": content, "mediaType": part.media_type or _JSON_TYPE}
        url = part.url if part.url is not UNSET else self._file_url(task_id, holder, number)
        return {"type": "file", "url": url, "mediaType": part.media_type, "filename": part.filename}

    def encode_message(self, message: Message, task_id: str) -> Json:
        parts = [self.encode_part(part, task_id, message.id, number) for number, part in enumerate(message.parts)]
        metadata = message.metadata
        role = "user" if message.role == "user" else "assistant"
        if metadata is not None and _ROLE_KEY in metadata:
            role = str(metadata[_ROLE_KEY])
            metadata = {name: one for name, one in metadata.items() if name != _ROLE_KEY} or None
        return {"role": role, "parts": parts, "metadata": metadata}

    def encode_artifact(self, artifact: Artifact, task_id: str) -> Json:
        """The first part. Text that came in chunks is joined."""
        body: Json = {"id": artifact.id, "type": "text", "content": None, "url": None, "mediaType": None}
        if artifact.parts:
            first = artifact.parts[0]
            encoded = self.encode_part(first, task_id, artifact.id, 0)
            body["type"], body["url"] = encoded["type"], encoded.get("url")
            body["content"] = encoded.get("content") if first.data is UNSET else first.data
            body["mediaType"] = first.media_type or encoded.get("mediaType")
            if all(part.text is not UNSET for part in artifact.parts):
                body["content"] = "".join([str(part.text) for part in artifact.parts])
        named = {"name": artifact.name, "description": artifact.description}
        body["metadata"] = {**_without_nulls(named), **(artifact.metadata or {})} or None
        return body

    # Events and errors

    def encode_frames(self, item: Event | Task, task_id: str, context_id: str) -> list[EventFrame]:
        """A status with a message is two events, message first."""
        if isinstance(item, Task):
            return []
        body, at = item.body, iso(item.at)
        if isinstance(body, ArtifactEvent):
            artifact = self.encode_artifact(body.artifact, task_id)
            if body.append or not body.last:  # AgentVault has no chunks, but it has metadata
                chunk = {_APPEND_KEY: body.append, _LAST_KEY: body.last}
                artifact["metadata"] = {**(artifact["metadata"] or {}), **chunk}
            return [EventFrame("task_artifact", {"taskId": task_id, "artifact": artifact, "timestamp": at})]
        if isinstance(body, MessageEvent):
            return [] if body.message.role == "user" else [self._message_frame(body.message, task_id, at)]
        status = {"taskId": task_id, "state": STATE_NAMES[body.state], "timestamp": at, "message": None}
        if body.message is None:
            return [EventFrame("task_status", status)]
        status["message"] = body.message.text or None
        return [self._message_frame(body.message, task_id, at), EventFrame("task_status", status)]

    def _message_frame(self, message: Message, task_id: str, at: str) -> EventFrame:
        body = {"taskId": task_id, "message": self.encode_message(message, task_id), "timestamp": at}
        return EventFrame("task_message", body)

    def decode_frame(self, name: str, raw: bytes) -> Update | None:
        """An event by its name; None if the name is unknown."""
        if name == "task_status":
            status = _STATUS.decode(raw)
            body = StatusEvent(parse_state(status.state, STATES_BY_NAME), _status_message(status.message))
            return Update(status.task_id, status.task_id, body, parse_time(status.timestamp))
        if name in ("task_message", "message"):
            event = _MESSAGE_EVENT.decode(raw)
            message = MessageEvent(message_of(event.message, ""))
            return Update(event.task_id, event.task_id, message, parse_time(event.timestamp))
        if name == "task_artifact":
            made = _ARTIFACT_EVENT.decode(raw)
            metadata = made.artifact.metadata or {}
            appends, last = metadata.get(_APPEND_KEY) is True, metadata.get(_LAST_KEY) is not False
            artifact = ArtifactEvent(_artifact_of(made.artifact), append=appends, last=last)
            return Update(made.task_id, made.task_id, artifact, parse_time(made.timestamp))
        return None

    def encode_notification(self, task: Task, event: Event) -> Json | None:
        frames = self.encode_frames(event, task.id, task.context_id)
        return frames[-1].data if frames else None


class SharedCodec(AgentVaultCodec):
    """`tasks/get` and `tasks/cancel`, which AgentVault and A2A 0.3 both have.

    The path, the version header and the dialect that created the task decide which client is asking. If they do not,
    the result is one object that both kinds of clients accept.
    """

    def __init__(self, file_url: FileUrl, surface: Literal["", "av", "a2a"]) -> None:
        super().__init__(file_url)
        self._surface = surface
        self.version: str | None = None
        """The protocol version the client named."""
        self.reports_internal_status = surface == "av"

    @property
    def spoken(self) -> Dialect:
        """The dialect to assume until the task is known."""
        return "0.3" if self.version == "0.3" or self._surface == "a2a" else "agentvault"

    def decode_query(self, params: Raw) -> TaskQuery:
        return V03.decode_query(params)

    def encode_task(self, task: Task, history_length: int | None = None) -> Json:
        reader = self._reader(task)
        if reader == "0.3":
            return V03.encode_task(task, history_length)
        vault = super().encode_task(task)
        return vault if reader == "agentvault" else merged_task(task, vault, history_length)

    def encode_canceled(self, task: Task) -> Json:
        reader = self._reader(task)
        if reader == "agentvault":
            return super().encode_canceled(task)
        result = self.encode_task(task)
        return result if reader == "0.3" else {**result, "success": task.state == "canceled", "message": None}

    def encode_not_cancelable(self, task: Task, message: str) -> Json | None:
        return super().encode_not_cancelable(task, message) if self._reader(task) == "agentvault" else None

    def encode_error(self, fault: Fault) -> Json:
        """Errors use the codes of 0.3, except on the path where only AgentVault is spoken."""
        return rpc_error(fault, "agentvault" if self._surface == "av" else "0.3")

    def _reader(self, task: Task) -> Literal["agentvault", "0.3", "both"]:
        if self._surface == "av":
            return "agentvault"
        if self.version == "0.3" or task.dialect == "0.3":
            return "0.3"
        return "agentvault" if task.dialect == "agentvault" and self._surface != "a2a" else "both"


def merged_task(task: Task, vault: Json, history_length: int | None = None) -> Json:
    """One object with every member that AgentVault (`vault`) or A2A 0.3 requires."""
    ours = V03.encode_task(task, history_length)
    encoded = zip(vault["artifacts"], ours.get("artifacts", []), strict=True)
    return {**vault, **ours, "artifacts": [{**one, **other} for one, other in encoded], "metadata": task.metadata}


def message_of(wire: MessageIn, at: str = "message.") -> Message:
    """The canonical message, with a new id."""
    problems: list[Violation] = []
    metadata = wire.metadata
    if wire.role in _AGENT_ROLES:
        metadata = {**(metadata or {}), _ROLE_KEY: wire.role}
    elif wire.role != "user":
        problems.append(Violation(f"{at}role", "One of user, assistant, system and tool."))
    if not wire.parts:
        problems.append(Violation(f"{at}parts", "A message has at least one part."))
    parts = [_part_of(part, f"{at}parts[{number}]", problems) for number, part in enumerate(wire.parts)]
    if problems:
        raise invalid_params(problems)
    role = "user" if wire.role == "user" else "agent"
    return Message(id=uuid7_text(), role=role, parts=tuple(parts), metadata=metadata)


def push_of(url: str) -> PushConfig:
    """The push config of a webhook."""
    if not _is_http(url):
        raise invalid_params([Violation("webhookUrl", "An http(s) address.")])
    return PushConfig(url=url, dialect="agentvault")


def _part_of(wire: PartIn, at: str, problems: list[Violation]) -> Part:
    content: Any = wire.content
    kind = wire.type or _kind_of(content, wire.url)
    if kind == "text" and isinstance(content, str):
        return Part(text=content, media_type=wire.media_type)
    if kind == "data" and isinstance(content, dict):
        return Part(data=content, media_type=wire.media_type or _JSON_TYPE)
    if kind == "file" and wire.url is not None and _is_http(wire.url):
        return Part(url=wire.url, filename=wire.filename, media_type=wire.media_type)
    expected = {"text": "a text as its content", "data": "an object as its content", "file": "an http(s) url"}.get(kind)
    problems.append(Violation(at, f"A {kind} part has {expected}." if expected else "A part is text, file or data."))
    return Part(text="")


def _kind_of(content: Any, url: str | None) -> str:
    if isinstance(content, str):
        return "text"
    return "data" if content is not UNSET else "file" if url is not None else "unknown"


def _artifact_of(wire: ArtifactIn) -> Artifact:
    metadata = wire.metadata or {}
    name, content = metadata.get("name"), wire.content
    if content is UNSET or content is None:
        parts = () if wire.url is None else (Part(url=wire.url, media_type=wire.media_type),)
    elif isinstance(content, str):
        parts = (Part(text=content, media_type=wire.media_type),)
    else:
        parts = (Part(data=content, media_type=wire.media_type),)
    return Artifact(
        id=wire.id,
        parts=parts,
        name=name if isinstance(name, str) else wire.type or None,
        metadata={key: value for key, value in metadata.items() if key not in (_APPEND_KEY, _LAST_KEY)} or None,
    )


def _status_message(text: str | None) -> Message | None:
    if not text:
        return None
    return message_of(MessageIn(role="assistant", parts=[PartIn(type="text", content=text)]), "")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _HTTP and bool(parts.hostname)


def _without_nulls(members: Mapping[str, Any]) -> Json:
    return {name: value for name, value in members.items() if value is not None}
