"""The operations of the agent protocols, their canonical requests, and the interface of a codec.

A codec translates one dialect in both directions. The server decodes requests and encodes results, events and errors;
the client encodes requests and decodes results. Codecs hold no state and call no service.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from pentad.kernel.clock import parse_iso
from pentad.kernel.principal import Action
from pentad.rooms.agents.codecs.errors import Fault, rpc_error
from pentad.rooms.agents.models import Body, Dialect, Event, Json, Message, PushConfig, State, Task, TaskPage

Operation = Literal[
    "send",
    "stream",
    "get",
    "list",
    "cancel",
    "subscribe",
    "set_push",
    "get_push",
    "list_push",
    "delete_push",
    "card",
    "custom",
]
METHODS: Final[Mapping[Operation, tuple[str, str | None, str | None]]] = {
    "send": ("SendMessage", "message/send", "tasks/send"),
    "stream": ("SendStreamingMessage", "message/stream", None),
    "get": ("GetTask", "tasks/get", "tasks/get"),
    "list": ("ListTasks", None, None),
    "cancel": ("CancelTask", "tasks/cancel", "tasks/cancel"),
    "subscribe": ("SubscribeToTask", "tasks/resubscribe", "tasks/sendSubscribe"),
    "set_push": ("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", None),
    "get_push": ("GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", None),
    "list_push": ("ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", None),
    "delete_push": ("DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", None),
    "card": ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", None),
}
"""The JSON-RPC method of each operation in A2A 1.0, A2A 0.3 and AgentVault; None if the dialect lacks it."""
_COLUMNS: Final[Mapping[Dialect, int]] = {"1.0": 0, "0.3": 1, "agentvault": 2}


def methods_of(dialect: Dialect) -> dict[Operation, str]:
    """The methods of a dialect."""
    column = _COLUMNS[dialect]
    return {operation: name for operation, names in METHODS.items() if (name := names[column]) is not None}


STREAMING: Final = frozenset[Operation]({"stream", "subscribe"})
_WRITES: Final = frozenset[Operation]({"send", "stream", "cancel", "set_push", "delete_push", "custom"})


def required_action(operation: Operation) -> Action:
    """The right an operation requires."""
    return "write" if operation in _WRITES else "read"


class SendRequest(Struct, frozen=True, kw_only=True):
    """Send a message: start a task or continue one."""

    message: Message
    wait: bool = True
    history_length: int | None = None
    output_modes: tuple[str, ...] = ()
    push: PushConfig | None = None
    metadata: Json | None = None
    tenant: str | None = None


class TaskQuery(Struct, frozen=True, kw_only=True):
    """Get a task, cancel it or subscribe to it."""

    task_id: str
    history_length: int | None = None
    metadata: Json | None = None
    tenant: str | None = None


class ListQuery(Struct, frozen=True, kw_only=True):
    """List tasks."""

    context_id: str | None = None
    state: State | None = None
    since: float | None = None
    page_size: int | None = None
    cursor: str | None = None
    history_length: int | None = None
    artifacts: bool = False
    tenant: str | None = None


class TaskPushConfig(Struct, frozen=True, kw_only=True):
    """Set a push notification config of a task."""

    task_id: str
    config: PushConfig
    tenant: str | None = None


class PushQuery(Struct, frozen=True, kw_only=True):
    """Get or delete a push notification config, or list those of a task."""

    task_id: str
    config_id: str | None = None
    tenant: str | None = None


class Update(Struct, frozen=True):
    """An event of a remote task that has no number yet."""

    task_id: str
    context_id: str
    body: Body
    at: float


class EventFrame(NamedTuple):
    """One server-sent event: its name (empty in A2A) and its data."""

    name: str
    data: Json


class Codec:
    """Translates one dialect."""

    dialect: ClassVar[Dialect]
    methods: ClassVar[Mapping[Operation, str]]
    """The JSON-RPC method of each operation."""
    is_rpc: ClassVar[bool] = True
    has_message_ids: ClassVar[bool] = True
    """Whether senders give their messages ids, so that a message that is sent again can be recognised."""
    replays_events: ClassVar[bool] = False
    """A subscription starts with the first event of the task instead of the task itself."""
    named_events: ClassVar[bool] = False
    """Streamed events have names and no JSON-RPC envelope, and an event without content still sends its number."""
    streams_errors: ClassVar[bool] = False
    """The error of a streaming method is an event, because clients of the dialect read nothing else."""
    v10_cards: ClassVar[bool] = False
    """The extended card has the members of A2A 1.0 alone."""
    reports_internal_status: bool = False
    """Whether an internal error has the HTTP status 500 instead of 200."""
    missing_card: ClassVar[Literal["no-extended-card", "unsupported"]] = "no-extended-card"
    """The error when an agent has no extended card."""

    # Requests

    def decode_send(self, params: Raw) -> SendRequest:
        raise NotImplementedError

    def encode_send(self, request: SendRequest) -> Json:
        raise NotImplementedError

    def decode_query(self, params: Raw) -> TaskQuery:
        raise NotImplementedError

    def encode_query(self, query: TaskQuery) -> Json:
        body: Json = {"id": query.task_id}
        if query.history_length is not None:
            body["historyLength"] = query.history_length
        return body

    def decode_list_query(self, params: Raw) -> ListQuery:
        raise NotImplementedError

    def decode_set_push(self, params: Raw) -> TaskPushConfig:
        raise NotImplementedError

    def decode_push_query(self, params: Raw) -> PushQuery:
        raise NotImplementedError

    def decode_delete_push(self, params: Raw) -> PushQuery:
        return self.decode_push_query(params)

    def decode_tenant(self, params: Raw) -> str | None:
        """The tenant of a request for the extended card."""
        return None

    # Results

    def encode_answer(self, answer: Task | Message, request: SendRequest) -> Json:
        """The result of send, and of a stream that is answered with a single message."""
        raise NotImplementedError

    def decode_answer(self, raw: bytes) -> Task | Message | Update:
        raise NotImplementedError

    def encode_task(self, task: Task, history_length: int | None = None) -> Json:
        raise NotImplementedError

    def decode_task(self, raw: bytes) -> Task:
        raise NotImplementedError

    def encode_canceled(self, task: Task) -> Json:
        return self.encode_task(task)

    def encode_not_cancelable(self, task: Task, message: str) -> Json | None:
        """The result for a task that cannot be canceled; None if the dialect reports an error."""
        return None

    def encode_page(self, page: TaskPage, query: ListQuery) -> Json:
        raise NotImplementedError

    def encode_push(self, config: PushConfig, task_id: str) -> Json:
        """A config as the result of set and get."""
        raise NotImplementedError

    def encode_push_list(self, configs: list[PushConfig], task_id: str) -> Any:
        raise NotImplementedError

    def encode_deleted(self) -> Json | None:
        """The result of delete_push."""
        return None

    # Events and errors

    def encode_frames(self, item: Event | Task, task_id: str, context_id: str) -> list[EventFrame]:
        """What a stream sends for an event, or for the task it starts with."""
        raise NotImplementedError

    def encode_notification(self, task: Task, event: Event) -> Json | None:
        """What a push notification says about an event; None if it is not sent."""
        raise NotImplementedError

    def encode_error(self, fault: Fault) -> Json:
        return rpc_error(fault, self.dialect)


def parse_time(text: str | None) -> float:
    """Seconds since the epoch; 0 for a missing or unreadable timestamp."""
    try:
        return parse_iso(text).timestamp() if text else 0.0
    except (ValueError, OverflowError):
        return 0.0


def parse_state(name: str, states: Mapping[str, State]) -> State:
    """The state a remote agent names."""
    if (state := states.get(name)) is None:
        raise msgspec.ValidationError(f"unknown state {name[:40]!r}")
    return state
