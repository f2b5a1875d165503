"""A2A 0.3: `kind` gives an object's type, states are lower case, and `final` ends a stream."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from pentad.rooms.agents.codecs import a2a
from pentad.rooms.agents.codecs.a2a import A2aCodec, Text, UpdateKind, checked_length, not_an_answer
from pentad.rooms.agents.codecs.base import (
    Operation,
    PushQuery,
    SendRequest,
    TaskPushConfig,
    TaskQuery,
    Update,
    methods_of,
)
from pentad.rooms.agents.codecs.errors import Violation
from pentad.rooms.agents.codecs.json_rpc import invalid_params, is_base64, typed
from pentad.rooms.agents.models import STATES, Dialect, Event, Json, Message, Part, PushConfig, Role, State, Task

_USUAL_TYPES: Final = frozenset({None, "text/plain", "application/json"})


class FileIn(Struct, rename="camel"):
    """A file by its bytes or its URI."""

    bytes: Text = None
    uri: Text = None
    name: Text = None
    mime_type: Text = None


class PartIn(Struct, rename="camel"):
    """A part. Without `kind`, its members determine its kind."""

    kind: Text = None
    text: Text = None
    file: FileIn | None = None
    data: Any = UNSET
    metadata: Json | None = None


class MessageIn(a2a.MessageIn[PartIn], rename="camel"):
    """A message."""

    kind: Text = None


class AuthenticationIn(Struct):
    """How to authenticate with the receiver of a notification."""

    schemes: list[str]
    credentials: Text = None


class PushConfigIn(Struct):
    """Where to send notifications."""

    url: str
    id: Text = None
    token: Text = None
    authentication: AuthenticationIn | None = None


class ConfigurationIn(Struct, rename="camel"):
    """How to answer a message."""

    accepted_output_modes: list[str] | None = None
    push_notification_config: PushConfigIn | None = None
    history_length: int | None = None
    blocking: bool | None = None


class SendIn(Struct, rename="camel"):
    """message/send and message/stream."""

    message: MessageIn
    configuration: ConfigurationIn | None = None
    metadata: Json | None = None


class QueryIn(Struct, rename="camel"):
    """tasks/get, tasks/cancel and tasks/resubscribe."""

    id: str
    history_length: int | None = None
    metadata: Json | None = None


class SetPushIn(Struct, rename="camel"):
    """tasks/pushNotificationConfig/set."""

    task_id: str
    push_notification_config: PushConfigIn


class PushQueryIn(Struct, rename="camel"):
    """tasks/pushNotificationConfig/get, list and delete."""

    id: str
    push_notification_config_id: Text = None


class KindIn(Struct):
    """An object's type."""

    kind: Text = None


_SEND: Final = msgspec.json.Decoder(SendIn)
_QUERY: Final = msgspec.json.Decoder(QueryIn)
_SET_PUSH: Final = msgspec.json.Decoder(SetPushIn)
_PUSH_QUERY: Final = msgspec.json.Decoder(PushQueryIn)
_MESSAGE: Final = msgspec.json.Decoder(MessageIn)
_KIND: Final = msgspec.json.Decoder(KindIn)
_TASK: Final = msgspec.json.Decoder(a2a.TaskIn[MessageIn, PartIn])
_STATUS: Final = msgspec.json.Decoder(a2a.StatusUpdateIn[MessageIn])
_ARTIFACT: Final = msgspec.json.Decoder(a2a.ArtifactUpdateIn[PartIn])


class A2aV03(A2aCodec):
    """A2A 0.3 over JSON-RPC."""

    dialect: ClassVar[Dialect] = "0.3"
    methods: ClassVar[Mapping[Operation, str]] = methods_of("0.3")
    streams_errors: ClassVar[bool] = True
    roles: ClassVar[Mapping[str, Role]] = {"user": "user", "agent": "agent"}
    role_names: ClassVar[Mapping[Role, str]] = {"user": "user", "agent": "agent"}
    states: ClassVar[Mapping[str, State]] = {state: state for state in STATES}
    state_names: ClassVar[Mapping[State, str]] = {state: state for state in STATES}

    def tag(self, kind: str) -> Json:
        return {"kind": kind}

    def tag_problems(self, wire: MessageIn, at: str) -> list[Violation]:
        return [] if wire.kind in (None, "message") else [Violation(f"{at}kind", "It is a message.")]

    # Requests

    def decode_send(self, params: Raw) -> SendRequest:
        wire = typed(_SEND, params)
        how = wire.configuration or ConfigurationIn()
        push = how.push_notification_config
        return SendRequest(
            message=self.message_of(wire.message),
            wait=how.blocking is not False,
            history_length=checked_length(how.history_length, "configuration.historyLength"),
            push=_push_of(push) if push else None,
            metadata=wire.metadata,
        )

    def encode_delivery(self, request: SendRequest) -> Json:
        push = {} if request.push is None else {"pushNotificationConfig": _push_config(request.push)}
        return {"blocking": request.wait, **push}

    def decode_query(self, params: Raw) -> TaskQuery:
        wire = typed(_QUERY, params)
        return TaskQuery(task_id=wire.id, history_length=checked_length(wire.history_length), metadata=wire.metadata)

    def decode_set_push(self, params: Raw) -> TaskPushConfig:
        wire = typed(_SET_PUSH, params)
        return TaskPushConfig(task_id=wire.task_id, config=_push_of(wire.push_notification_config))

    def decode_push_query(self, params: Raw) -> PushQuery:
        wire = typed(_PUSH_QUERY, params)
        return PushQuery(task_id=wire.id, config_id=wire.push_notification_config_id)

    def decode_delete_push(self, params: Raw) -> PushQuery:
        if not (query := self.decode_push_query(params)).config_id:
            raise invalid_params([Violation("pushNotificationConfigId", "The config to delete.")])
        return query

    # Results

    def decode_answer(self, raw: bytes) -> Task | Message | Update:
        kind = _KIND.decode(raw).kind
        if kind == "task":
            return self.task_of(_TASK.decode(raw))
        if kind == "message":
            return self.message_of(_MESSAGE.decode(raw), "")
        if kind == "status-update":
            return self.status_update_of(_STATUS.decode(raw))
        if kind == "artifact-update":
            return self.artifact_update_of(_ARTIFACT.decode(raw))
        raise not_an_answer()

    def decode_task(self, raw: bytes) -> Task:
        return self.task_of(_TASK.decode(raw))

    def encode_push(self, config: PushConfig, task_id: str) -> Json:
        return {"taskId": task_id, "pushNotificationConfig": _push_config(config)}

    def encode_push_list(self, configs: list[PushConfig], task_id: str) -> list[Json]:
        return [self.encode_push(one, task_id) for one in configs]

    # Parts, events and errors

    def part_of(self, wire: PartIn, at: str, problems: list[Violation]) -> Part:
        kind = wire.kind or ("text" if wire.text is not None else "file" if wire.file is not None else "data")
        if kind == "text" and wire.text is not None:
            return Part(text=wire.text, metadata=wire.metadata)
        if kind == "file" and wire.file is not None:
            return _file_of(wire.file, wire.metadata, f"{at}.file", problems)
        data: Any = wire.data
        if kind == "data" and isinstance(data, dict):
            return Part(data=data, metadata=wire.metadata)
        expected = {"text": "a text", "file": "a file", "data": "an object in `data`"}.get(kind)
        description = f"A part of kind {kind} has {expected}." if expected else "A part is of kind text, file or data."
        problems.append(Violation(at, description))
        return Part(text="")

    def encode_part(self, part: Part) -> Json:
        metadata = part.metadata
        if part.text is not UNSET:
            body: Json = {"kind": "text", "text": part.text}
        elif part.data is not UNSET:
            data: Any = part.data
            body = {"kind": "data", "data": data if isinstance(data, dict) else {"value": data}}
        else:
            file: Json = {"bytes": part.raw} if part.raw is not UNSET else {"uri": part.url}
            if part.filename is not None:
                file["name"] = part.filename
            if part.media_type is not None:
                file["mimeType"] = part.media_type
            body = {"kind": "file", "file": file}
        if "file" not in body and part.media_type not in _USUAL_TYPES:
            metadata = {"mediaType": part.media_type, **(metadata or {})}
        if metadata:
            body["metadata"] = metadata
        return body

    def wrap_update(self, kind: UpdateKind, update: Json, flags: Mapping[str, bool], metadata: Json | None) -> Json:
        body = {"kind": kind, **update, **flags}
        if metadata:
            body["metadata"] = metadata
        return body

    def encode_notification(self, task: Task, event: Event) -> Json | None:
        """0.3 sends the whole task."""
        return None if self.encode_event(event, task.id, task.context_id) is None else self.encode_task(task)


V03: Final = A2aV03()


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


def _push_of(wire: PushConfigIn) -> PushConfig:
    login = wire.authentication
    return PushConfig(
        url=wire.url,
        dialect="0.3",
        id=wire.id or "",
        token=wire.token or None,
        scheme=login.schemes[0] if login and login.schemes else None,
        credentials=login.credentials if login else None,
    )


def _push_config(config: PushConfig) -> Json:
    body: Json = {"id": config.id} if config.id else {}
    body["url"] = config.url
    if config.token is not None:
        body["token"] = config.token
    if config.scheme is not None:
        credentials = {} if config.credentials is None else {"credentials": config.credentials}
        body["authentication"] = {"schemes": [config.scheme], **credentials}
    return body
