"""What A2A 0.3 and 1.0 have in common: the structure of messages, artifacts, tasks and events."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from pentad.kernel.clock import iso
from pentad.rooms.agents.codecs.base import (
    Codec,
    EventFrame,
    SendRequest,
    Update,
    parse_state,
    parse_time,
)
from pentad.rooms.agents.codecs.errors import Violation
from pentad.rooms.agents.codecs.json_rpc import invalid_params
from pentad.rooms.agents.models import (
    RESTING,
    Artifact,
    ArtifactEvent,
    Event,
    Json,
    Message,
    MessageEvent,
    Part,
    Role,
    State,
    StatusEvent,
    Task,
)

M = TypeVar("M")
P = TypeVar("P")
Text = str | None
UpdateKind = Literal["status-update", "artifact-update"]


class MessageIn(Struct, Generic[P], rename="camel"):
    """A message."""

    message_id: str
    role: str
    parts: list[P]
    context_id: Text = None
    task_id: Text = None
    metadata: Json | None = None
    extensions: list[str] | None = None
    reference_task_ids: list[str] | None = None


class StatusIn(Struct, Generic[M]):
    """The status of a task."""

    state: str
    message: M | None = None
    timestamp: Text = None


class ArtifactIn(Struct, Generic[P], rename="camel"):
    """An artifact."""

    artifact_id: str
    parts: list[P] = []
    name: Text = None
    description: Text = None
    metadata: Json | None = None
    extensions: list[str] | None = None


class TaskIn(Struct, Generic[M, P], rename="camel"):
    """A task."""

    id: str
    status: StatusIn[M]
    context_id: Text = None
    artifacts: list[ArtifactIn[P]] | None = None
    history: list[M] | None = None
    metadata: Json | None = None


class StatusUpdateIn(Struct, Generic[M], rename="camel"):
    """A task has a new status."""

    task_id: str
    status: StatusIn[M]
    context_id: Text = None
    metadata: Json | None = None


class ArtifactUpdateIn(Struct, Generic[P], rename="camel"):
    """An artifact, or more parts of one."""

    task_id: str
    artifact: ArtifactIn[P]
    context_id: Text = None
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: Json | None = None


class A2aCodec(Codec):
    """The shared half of both versions. A version adds its names, its parts and its requests."""

    roles: ClassVar[Mapping[str, Role]]
    role_names: ClassVar[Mapping[Role, str]]
    states: ClassVar[Mapping[str, State]]
    state_names: ClassVar[Mapping[State, str]]

    def part_of(self, wire: Any, at: str, problems: list[Violation]) -> Part:
        """A decoded part; adds to `problems` if it is invalid."""
        raise NotImplementedError

    def encode_part(self, part: Part) -> Json:
        raise NotImplementedError

    def wrap_update(self, kind: UpdateKind, update: Json, flags: Mapping[str, bool], metadata: Json | None) -> Json:
        raise NotImplementedError

    def encode_delivery(self, request: SendRequest) -> Json:
        """The members of a send's configuration for when and where to answer."""
        raise NotImplementedError

    def tag(self, kind: str) -> Json:
        """The member that gives an object's type, if the version has one."""
        return {}

    def tag_problems(self, wire: Any, at: str) -> list[Violation]:
        return []

    # Decoding

    def message_of(self, wire: MessageIn[Any], at: str = "message.") -> Message:
        """The canonical message. A fault names every invalid field."""
        problems: list[Violation] = []
        if not wire.message_id:
            problems.append(Violation(f"{at}messageId", "A message has an id."))
        role = self.roles.get(wire.role)
        if role is None:
            problems.append(Violation(f"{at}role", f"One of {' and '.join(self.role_names.values())}."))
        problems += self.tag_problems(wire, at)
        if not wire.parts:
            problems.append(Violation(f"{at}parts", "A message has at least one part."))
        parts = [self.part_of(part, f"{at}parts[{number}]", problems) for number, part in enumerate(wire.parts)]
        if problems or role is None:
            raise invalid_params(problems)
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

    def task_of(self, wire: TaskIn[Any, Any]) -> Task:
        status = wire.status
        message = None if status.message is None else self.message_of(status.message, "")
        history = [self.message_of(one, "") for one in wire.history or ()]
        if message is not None and all(one.id != message.id for one in history):
            history.append(message)
        at = parse_time(status.timestamp)
        return Task(
            id=wire.id,
            context_id=wire.context_id or wire.id,
            agent="",
            owner="",
            dialect=self.dialect,
            state=parse_state(status.state, self.states),
            status_message=message,
            status_at=at,
            created_at=at,
            updated_at=at,
            history=history,
            artifacts=[self._artifact_of(one) for one in wire.artifacts or ()],
            metadata=wire.metadata,
        )

    def status_update_of(self, wire: StatusUpdateIn[Any]) -> Update:
        status = wire.status
        message = None if status.message is None else self.message_of(status.message, "")
        body = StatusEvent(parse_state(status.state, self.states), message, wire.metadata)
        return Update(wire.task_id, wire.context_id or wire.task_id, body, parse_time(status.timestamp))

    def artifact_update_of(self, wire: ArtifactUpdateIn[Any]) -> Update:
        body = ArtifactEvent(self._artifact_of(wire.artifact), bool(wire.append), bool(wire.last_chunk), wire.metadata)
        return Update(wire.task_id, wire.context_id or wire.task_id, body, 0.0)

    def _artifact_of(self, wire: ArtifactIn[Any]) -> Artifact:
        problems: list[Violation] = []
        parts = [self.part_of(part, f"parts[{number}]", problems) for number, part in enumerate(wire.parts)]
        if problems:
            raise invalid_params(problems)
        return Artifact(
            id=wire.artifact_id,
            parts=tuple(parts),
            name=wire.name,
            description=wire.description,
            metadata=wire.metadata,
            extensions=tuple(wire.extensions or ()),
        )

    # Encoding

    def encode_send(self, request: SendRequest) -> Json:
        configuration = self.encode_delivery(request)
        if request.history_length is not None:
            configuration["historyLength"] = request.history_length
        if request.output_modes:
            configuration["acceptedOutputModes"] = request.output_modes
        body: Json = {"message": self.encode_message(request.message), "configuration": configuration}
        if request.metadata:
            body["metadata"] = request.metadata
        return body

    def encode_message(self, message: Message, task_id: str | None = None, context_id: str | None = None) -> Json:
        body: Json = {
            **self.tag("message"),
            "messageId": message.id,
            "role": self.role_names[message.role],
            "parts": [self.encode_part(one) for one in message.parts],
        }
        if context := message.context_id or context_id:
            body["contextId"] = context
        if task := message.task_id or task_id:
            body["taskId"] = task
        if message.metadata:
            body["metadata"] = message.metadata
        if message.extensions:
            body["extensions"] = message.extensions
        if message.references:
            body["referenceTaskIds"] = message.references
        return body

    def encode_artifact(self, artifact: Artifact) -> Json:
        body: Json = {"artifactId": artifact.id, "parts": [self.encode_part(one) for one in artifact.parts]}
        if artifact.name is not None:
            body["name"] = artifact.name
        if artifact.description is not None:
            body["description"] = artifact.description
        if artifact.metadata:
            body["metadata"] = artifact.metadata
        if artifact.extensions:
            body["extensions"] = artifact.extensions
        return body

    def encode_task(self, task: Task, history_length: int | None = None, *, artifacts: bool = True) -> Json:
        """A task without empty lists."""
        body: Json = {
            **self.tag("task"),
            "id": task.id,
            "contextId": task.context_id,
            "status": self._status(task.state, task.status_message, task.status_at, task.id, task.context_id),
        }
        if artifacts and task.artifacts:
            body["artifacts"] = [self.encode_artifact(one) for one in task.artifacts]
        if history := _history(task, history_length):
            body["history"] = [self.encode_message(one, task.id, task.context_id) for one in history]
        if task.metadata:
            body["metadata"] = task.metadata
        return body

    def encode_answer(self, answer: Task | Message, request: SendRequest) -> Json:
        if isinstance(answer, Message):
            return self.encode_message(answer, None, request.message.context_id)
        return self.encode_task(answer, request.history_length)

    def encode_event(self, event: Event, task_id: str, context_id: str) -> Json | None:
        """What a stream sends for an event; None for the user's own messages."""
        body = event.body
        update: Json = {"taskId": task_id, "contextId": context_id}
        if isinstance(body, ArtifactEvent):
            update["artifact"] = self.encode_artifact(body.artifact)
            flags = {"append": body.append, "lastChunk": body.last}
            return self.wrap_update("artifact-update", update, flags, body.metadata)
        if isinstance(body, MessageEvent):
            if body.message.role == "user":
                return None
            body = StatusEvent("working", body.message)
        update["status"] = self._status(body.state, body.message, event.at, task_id, context_id)
        return self.wrap_update("status-update", update, {"final": body.state in RESTING}, body.metadata)

    def encode_frames(self, item: Event | Task, task_id: str, context_id: str) -> list[EventFrame]:
        if isinstance(item, Task):
            return [EventFrame("", self.encode_first(item))]
        body = self.encode_event(item, task_id, context_id)
        return [] if body is None else [EventFrame("", body)]

    def encode_first(self, task: Task) -> Json:
        """The task at the start of a stream."""
        return self.encode_task(task)

    def _status(self, state: State, message: Message | None, at: float, task_id: str, context_id: str) -> Json:
        body: Json = {"state": self.state_names[state], "timestamp": iso(at)}
        if message is not None:
            body["message"] = self.encode_message(message, task_id, context_id)
        return body


def checked_length(length: int | None, at: str = "historyLength") -> int | None:
    """The requested length of the history."""
    if length is not None and length < 0:
        raise invalid_params([Violation(at, "A number from 0 on.")])
    return length


def not_an_answer() -> msgspec.ValidationError:
    """The error for an object of unknown kind from a remote agent."""
    return msgspec.ValidationError("neither a task nor a message nor an update")


def _history(task: Task, length: int | None) -> list[Message]:
    """The latest messages, without the one the status already shows."""
    history = task.history
    if history and task.status_message is not None and history[-1].id == task.status_message.id:
        history = history[:-1]
    return history if length is None else history[-length:] if length > 0 else []
