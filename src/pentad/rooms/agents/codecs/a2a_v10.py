"""A2A 1.0: the JSON of its protocol buffers, read and written without them, so that large integers and deep nesting
survive.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pentad.kernel.clock import parse_iso
from pentad.rooms.agents.codecs import a2a
from pentad.rooms.agents.codecs.a2a import A2aCodec, Text, UpdateKind, checked_length, not_an_answer
from pentad.rooms.agents.codecs.base import (
    ListQuery,
    Operation,
    PushQuery,
    SendRequest,
    TaskPushConfig,
    TaskQuery,
    Update,
    methods_of,
)
from pentad.rooms.agents.codecs.errors import Fault, Violation, rest_error
from pentad.rooms.agents.codecs.json_rpc import invalid_params, is_base64
from pentad.rooms.agents.codecs.protojson import Reader
from pentad.rooms.agents.models import (
    STATES,
    Dialect,
    Event,
    Json,
    Message,
    Part,
    PushConfig,
    Role,
    State,
    Task,
    TaskPage,
)

DEFAULT_PAGE_SIZE: Final = 50
MAX_PAGE_SIZE: Final = 100
_HALF_A_MILLISECOND: Final = 0.0005
"""Times are stored in milliseconds, so "after" a time is "from half a millisecond before it"."""


class PartIn(Struct, rename="camel"):
    """A part: exactly one of text, raw, url and data."""

    text: Text | UnsetType = UNSET
    raw: Text | UnsetType = UNSET
    url: Text | UnsetType = UNSET
    data: Any = UNSET
    metadata: Json | None = None
    filename: Text = None
    media_type: Text = None


class MessageIn(a2a.MessageIn[PartIn], rename="camel"):
    """A message."""


class AuthenticationIn(Struct):
    """How to authenticate with the receiver of a notification."""

    scheme: str
    credentials: Text = None


class PushConfigIn(Struct, rename="camel"):
    """A push notification config, alone or with its task."""

    url: str
    id: Text = None
    task_id: Text = None
    token: Text = None
    authentication: AuthenticationIn | None = None
    tenant: Text = None


class ConfigurationIn(Struct, rename="camel"):
    """How to answer a message."""

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


class QueryIn(Struct, rename="camel"):
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


class PushQueryIn(Struct, rename="camel"):
    """Get, list and delete push notification configs."""

    task_id: str
    id: Text = None
    page_size: int | None = None
    page_token: Text = None
    tenant: Text = None


class TenantIn(Struct):
    """GetExtendedAgentCard."""

    tenant: Text = None


class AnswerIn(Struct, rename="camel"):
    """Exactly one of these."""

    task: a2a.TaskIn[MessageIn, PartIn] | None = None
    message: MessageIn | None = None
    status_update: a2a.StatusUpdateIn[MessageIn] | None = None
    artifact_update: a2a.ArtifactUpdateIn[PartIn] | None = None


read_send: Final = Reader(SendIn)
read_query: Final = Reader(QueryIn)
read_list: Final = Reader(ListIn)
read_push: Final = Reader(PushConfigIn)
read_push_query: Final = Reader(PushQueryIn)
_read_tenant: Final = Reader(TenantIn)
_ANSWER: Final = msgspec.json.Decoder(AnswerIn)
_TASK: Final = msgspec.json.Decoder(a2a.TaskIn[MessageIn, PartIn])


class A2aV10(A2aCodec):
    """A2A 1.0 over JSON-RPC."""

    dialect: ClassVar[Dialect] = "1.0"
    methods: ClassVar[Mapping[Operation, str]] = methods_of("1.0")
    v10_cards: ClassVar[bool] = True
    # 1.0 reserves its own code for a card that is announced but missing
    missing_card: ClassVar[Literal["no-extended-card", "unsupported"]] = "unsupported"
    roles: ClassVar[Mapping[str, Role]] = {
        "ROLE_USER": "user", "ROLE_AGENT": "agent", "user": "user", "agent": "agent"
    }  # fmt: skip
    role_names: ClassVar[Mapping[Role, str]] = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
    state_names: ClassVar[Mapping[State, str]] = {
        state: "TASK_STATE_" + state.upper().replace("-", "_") for state in STATES
    }
    states: ClassVar[Mapping[str, State]] = {name: state for state, name in state_names.items()}

    # Requests

    def decode_send(self, params: Raw) -> SendRequest:
        wire = read_send(params)
        how = wire.configuration or ConfigurationIn()
        push = how.task_push_notification_config
        return SendRequest(
            message=self.message_of(wire.message),
            wait=not how.return_immediately,
            history_length=checked_length(how.history_length, "configuration.historyLength"),
            push=_push_of(push) if push else None,
            metadata=wire.metadata,
            tenant=wire.tenant,
        )

    def encode_delivery(self, request: SendRequest) -> Json:
        push = {} if request.push is None else {"taskPushNotificationConfig": self.encode_push(request.push, "")}
        return {"returnImmediately": not request.wait, **push}

    def decode_query(self, params: Raw) -> TaskQuery:
        wire = read_query(params)
        return TaskQuery(task_id=wire.id, history_length=checked_length(wire.history_length), tenant=wire.tenant)

    def decode_list_query(self, params: Raw) -> ListQuery:
        wire = read_list(params)
        state = self.states.get(wire.status) if wire.status else None
        if state is None and wire.status not in (None, "", "TASK_STATE_UNSPECIFIED"):
            raise invalid_params([Violation("status", "It is no state of a task.")])
        size = DEFAULT_PAGE_SIZE if wire.page_size is None else wire.page_size
        if not 1 <= size <= MAX_PAGE_SIZE:
            raise invalid_params([Violation("pageSize", f"A number from 1 to {MAX_PAGE_SIZE}.")])
        return ListQuery(
            context_id=wire.context_id or None,
            state=state,
            since=_since(wire.status_timestamp_after),
            page_size=size,
            cursor=wire.page_token or None,
            history_length=checked_length(wire.history_length),
            artifacts=bool(wire.include_artifacts),
            tenant=wire.tenant,
        )

    def decode_set_push(self, params: Raw) -> TaskPushConfig:
        wire = read_push(params)
        if not wire.task_id:
            raise invalid_params([Violation("taskId", "The task it is about.")])
        return TaskPushConfig(task_id=wire.task_id, config=_push_of(wire), tenant=wire.tenant)

    def decode_push_query(self, params: Raw) -> PushQuery:
        wire = read_push_query(params)
        return PushQuery(task_id=wire.task_id, config_id=wire.id, tenant=wire.tenant)

    def decode_tenant(self, params: Raw) -> str | None:
        return _read_tenant(params).tenant

    # Results

    def encode_answer(self, answer: Task | Message, request: SendRequest) -> Json:
        return {"message" if isinstance(answer, Message) else "task": super().encode_answer(answer, request)}

    def decode_answer(self, raw: bytes) -> Task | Message | Update:
        found = _ANSWER.decode(raw)
        if found.task is not None:
            return self.task_of(found.task)
        if found.message is not None:
            return self.message_of(found.message, "")
        if found.status_update is not None:
            return self.status_update_of(found.status_update)
        if found.artifact_update is not None:
            return self.artifact_update_of(found.artifact_update)
        raise not_an_answer()

    def encode_first(self, task: Task) -> Json:
        return {"task": self.encode_task(task)}

    def decode_task(self, raw: bytes) -> Task:
        return self.task_of(_TASK.decode(raw))

    def encode_page(self, page: TaskPage, query: ListQuery) -> Json:
        return {
            "tasks": [self.encode_task(one, query.history_length, artifacts=query.artifacts) for one in page.tasks],
            "nextPageToken": page.next or "",
            "pageSize": query.page_size,
            "totalSize": page.total,
        }

    def encode_push(self, config: PushConfig, task_id: str) -> Json:
        body: Json = {name: value for name, value in (("id", config.id), ("taskId", task_id)) if value}
        body["url"] = config.url
        if config.token is not None:
            body["token"] = config.token
        if config.scheme is not None:
            body["authentication"] = {"scheme": config.scheme}
            if config.credentials is not None:
                body["authentication"]["credentials"] = config.credentials
        return body

    def encode_push_list(self, configs: list[PushConfig], task_id: str) -> Json:
        return {"configs": [self.encode_push(one, task_id) for one in configs]}

    def encode_deleted(self) -> Json:
        return {}

    # Parts, events and errors

    def part_of(self, wire: PartIn, at: str, problems: list[Violation]) -> Part:
        text, raw, url = wire.text or "", wire.raw or "", wire.url or ""
        given = [
            isinstance(wire.text, str), isinstance(wire.raw, str), isinstance(wire.url, str), wire.data is not UNSET
        ]  # fmt: skip
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

    def encode_part(self, part: Part) -> Json:
        body: Json = {}
        if part.text is not UNSET:
            body["text"] = part.text
        elif part.raw is not UNSET:
            body["raw"] = part.raw
        elif part.url is not UNSET:
            body["url"] = part.url
        else:
            body["data"] = part.data
        if part.filename is not None:
            body["filename"] = part.filename
        if part.media_type is not None:
            body["mediaType"] = part.media_type
        if part.metadata:
            body["metadata"] = part.metadata
        return body

    def wrap_update(self, kind: UpdateKind, update: Json, flags: Mapping[str, bool], metadata: Json | None) -> Json:
        for name, is_set in flags.items():
            if is_set and name != "final":  # 1.0 has no `final`: the stream just ends
                update[name] = True
        if metadata:
            update["metadata"] = metadata
        return {"statusUpdate" if kind == "status-update" else "artifactUpdate": update}

    def encode_notification(self, task: Task, event: Event) -> Json | None:
        return self.encode_event(event, task.id, task.context_id)


class A2aHttp(A2aV10):
    """A2A 1.0 over HTTP+JSON: no envelope, and AIP-193 errors. `http_json` finds operations by path."""

    is_rpc: ClassVar[bool] = False

    def encode_error(self, fault: Fault) -> Json:
        return rest_error(fault)


V10: Final = A2aV10()
HTTP: Final = A2aHttp()


def _push_of(wire: PushConfigIn) -> PushConfig:
    login = wire.authentication
    return PushConfig(
        url=wire.url,
        dialect="1.0",
        id=wire.id or "",
        token=wire.token or None,
        scheme=login.scheme if login else None,
        credentials=login.credentials if login else None,
    )


def _since(text: str | None) -> float | None:
    if not text:
        return None
    try:
        return parse_iso(text).timestamp() - _HALF_A_MILLISECOND
    except ValueError:
        raise invalid_params([Violation("statusTimestampAfter", "A time as RFC 3339 writes it.")]) from None
