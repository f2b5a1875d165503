"""Answers of A2A peers, 0.3 and 1.0, as the canonical task and its events.

The shapes of messages and parts are those the server reads; what only a peer's answer has (tasks, updates) is here.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec import Struct

from pentad.rooms.agents.dialects import v03, v10
from pentad.rooms.agents.tasks.model import (
    Artifact,
    ArtifactEvent,
    Body,
    Dialect,
    Json,
    Message,
    Part,
    PushConfig,
    StatusEvent,
    Task,
    TaskPage,
)
from pentad.rooms.agents.tasks.states import STATES, State

M = TypeVar("M", v03.MessageIn, v10.MessageIn)
P = TypeVar("P", v03.PartIn, v10.PartIn)
Text = str | None


class StatusIn(Struct, Generic[M]):
    """Where a task stands."""

    state: str
    message: M | None = None
    timestamp: Text = None


class ArtifactIn(Struct, Generic[P], rename="camel"):
    """Something the peer made."""

    artifact_id: str
    parts: list[P] = []
    name: Text = None
    description: Text = None
    metadata: Json | None = None
    extensions: list[str] | None = None


class TaskIn(Struct, Generic[M, P], rename="camel"):
    """A task as a peer shows it."""

    id: str
    status: StatusIn[M]
    context_id: Text = None
    artifacts: list[ArtifactIn[P]] | None = None
    history: list[M] | None = None
    metadata: Json | None = None


class StatusUpdateIn(Struct, Generic[M], rename="camel"):
    """A task stands elsewhere now."""

    task_id: str
    status: StatusIn[M]
    context_id: Text = None
    metadata: Json | None = None


class ArtifactUpdateIn(Struct, Generic[P], rename="camel"):
    """An artifact, or more of one."""

    task_id: str
    artifact: ArtifactIn[P]
    context_id: Text = None
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: Json | None = None


class ResponseIn(Struct, rename="camel"):
    """A2A 1.0: exactly one of these."""

    task: TaskIn[v10.MessageIn, v10.PartIn] | None = None
    message: v10.MessageIn | None = None
    status_update: StatusUpdateIn[v10.MessageIn] | None = None
    artifact_update: ArtifactUpdateIn[v10.PartIn] | None = None


class PageIn(Struct, rename="camel"):
    """A2A 1.0: some tasks."""

    tasks: list[TaskIn[v10.MessageIn, v10.PartIn]] = []
    next_page_token: Text = None
    total_size: int | None = None


class ConfigsIn(Struct):
    """A2A 1.0: where a task is told of."""

    configs: list[v10.PushConfigIn] = []


class KindIn(Struct):
    """A2A 0.3: what an object is."""

    kind: Text = None


class Update(Struct, frozen=True):
    """One event of a task, before it has a number."""

    task_id: str
    context_id: str
    body: Body
    at: float


Answer = Task | Message | Update

_V03_STATES: Final[dict[str, State]] = {state: state for state in STATES}
_RESPONSE: Final = msgspec.json.Decoder(ResponseIn)
_V10_TASK: Final = msgspec.json.Decoder(TaskIn[v10.MessageIn, v10.PartIn])
_PAGE: Final = msgspec.json.Decoder(PageIn)
_V10_PUSH: Final = msgspec.json.Decoder(v10.PushConfigIn)
_V10_PUSHES: Final = msgspec.json.Decoder(ConfigsIn)
_KIND: Final = msgspec.json.Decoder(KindIn)
_V03_TASK: Final = msgspec.json.Decoder(TaskIn[v03.MessageIn, v03.PartIn])
_V03_STATUS: Final = msgspec.json.Decoder(StatusUpdateIn[v03.MessageIn])
_V03_ARTIFACT: Final = msgspec.json.Decoder(ArtifactUpdateIn[v03.PartIn])
_V03_PUSH: Final = msgspec.json.Decoder(v03.SetConfigIn)
_V03_PUSHES: Final = msgspec.json.Decoder(list[v03.SetConfigIn])


class Reader:
    """Reads one peer's answers; a `msgspec.DecodeError` or a `Fault` for what cannot be read."""

    def __init__(self, agent: str, dialect: Dialect) -> None:
        self._agent = agent
        self._dialect: Dialect = dialect
        self._is_v10 = dialect == "1.0"

    def answer(self, raw: bytes) -> Answer:
        """The result of a send, or of one step of a stream."""
        return self._v10_answer(raw) if self._is_v10 else self._v03_answer(raw)

    def task(self, raw: bytes) -> Task:
        """The result of get and cancel."""
        return self._task((_V10_TASK if self._is_v10 else _V03_TASK).decode(raw))

    def page(self, raw: bytes) -> TaskPage:
        """The result of list."""
        page = _PAGE.decode(raw)
        tasks = [self._task(one) for one in page.tasks]
        total = len(tasks) if page.total_size is None else page.total_size
        return TaskPage(tasks=tasks, total=total, next=page.next_page_token or None)

    def push(self, raw: bytes) -> PushConfig:
        """One push notification config."""
        if self._is_v10:
            return v10.push_of(_V10_PUSH.decode(raw))
        return v03.push_of(_V03_PUSH.decode(raw).push_notification_config)

    def pushes(self, raw: bytes) -> list[PushConfig]:
        """All of a task's."""
        if self._is_v10:
            return [v10.push_of(one) for one in _V10_PUSHES.decode(raw).configs]
        return [v03.push_of(one.push_notification_config) for one in _V03_PUSHES.decode(raw)]

    def _v10_answer(self, raw: bytes) -> Answer:
        found = _RESPONSE.decode(raw)
        if found.task is not None:
            return self._task(found.task)
        if found.message is not None:
            return v10.message_of(found.message, "")
        if found.status_update is not None:
            return self._status_update(found.status_update)
        if found.artifact_update is not None:
            return self._artifact_update(found.artifact_update)
        raise msgspec.ValidationError("neither a task nor a message nor an update")

    def _v03_answer(self, raw: bytes) -> Answer:
        kind = _KIND.decode(raw).kind
        if kind == "task":
            return self._task(_V03_TASK.decode(raw))
        if kind == "message":
            return v03.read_message(raw)
        if kind == "status-update":
            return self._status_update(_V03_STATUS.decode(raw))
        if kind == "artifact-update":
            return self._artifact_update(_V03_ARTIFACT.decode(raw))
        raise msgspec.ValidationError("neither a task nor a message nor an update")

    def _task(self, wire: "TaskIn[Any, Any]") -> Task:
        status = wire.status
        said = None if status.message is None else self._message(status.message)
        history = [self._message(one) for one in wire.history or ()]
        if said is not None and all(one.id != said.id for one in history):
            history.append(said)
        at = seconds(status.timestamp)
        return Task(
            id=wire.id,
            context_id=wire.context_id or wire.id,
            agent=self._agent,
            owner="",
            dialect=self._dialect,
            state=self._state(status.state),
            status_message=said,
            status_at=at,
            created_at=at,
            updated_at=at,
            history=history,
            artifacts=[self._artifact(one) for one in wire.artifacts or ()],
            metadata=wire.metadata,
        )

    def _status_update(self, wire: "StatusUpdateIn[Any]") -> Update:
        said = None if wire.status.message is None else self._message(wire.status.message)
        body = StatusEvent(self._state(wire.status.state), said, wire.metadata)
        return Update(wire.task_id, wire.context_id or wire.task_id, body, seconds(wire.status.timestamp))

    def _artifact_update(self, wire: "ArtifactUpdateIn[Any]") -> Update:
        body = ArtifactEvent(self._artifact(wire.artifact), bool(wire.append), bool(wire.last_chunk), wire.metadata)
        return Update(wire.task_id, wire.context_id or wire.task_id, body, 0.0)

    def _artifact(self, wire: "ArtifactIn[Any]") -> Artifact:
        return Artifact(
            id=wire.artifact_id,
            parts=self._parts(wire.parts),
            name=wire.name,
            description=wire.description,
            metadata=wire.metadata,
            extensions=tuple(wire.extensions or ()),
        )

    def _parts(self, wire: list[Any]) -> tuple[Part, ...]:
        """Parts are read as those of a message, which has at least one."""
        if not wire:
            return ()
        holder = v10.MessageIn if self._is_v10 else v03.MessageIn
        return self._message(holder(message_id="parts", role="agent", parts=wire)).parts

    def _message(self, wire: Any) -> Message:
        read = cast("Callable[[Any, str], Message]", v10.message_of if self._is_v10 else v03.message_of)
        return read(wire, "")

    def _state(self, name: str) -> State:
        state = (v10.STATES_BY_NAME if self._is_v10 else _V03_STATES).get(name)
        if state is None:
            raise msgspec.ValidationError(f"a state that is not known: {name[:40]!r}")
        return state


def seconds(timestamp: str | None) -> float:
    """Seconds since the epoch; 0 for a time nobody gave or nobody can read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
    except (ValueError, OverflowError):
        return 0.0
