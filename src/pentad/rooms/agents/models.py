"""The canonical task. Every dialect is decoded into it and encoded from it.

Values are exactly what was sent: no number is rounded and no key dropped. Nothing here depends on a wire format or a
store. A task is the fold of its events (`apply_events`), so the log is the only source of truth. A terminal state never
changes; an interrupted task waits for its caller.

Times are seconds since the epoch, in milliseconds. A `Part` has exactly one of text, raw, url and data.
"""

import base64
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

State = Literal[
    "submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled", "rejected"
]

STATES: Final[tuple[State, ...]] = get_args(State)
TERMINAL: Final = frozenset[State]({"completed", "failed", "canceled", "rejected"})
INTERRUPTED: Final = frozenset[State]({"input-required", "auth-required"})
RESTING: Final = TERMINAL | INTERRUPTED
"""States in which a waiting caller gets its answer: nothing more happens on its own."""


_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")


def can_transition(before: State, after: State) -> bool:
    """Whether a task may change from one state to another. Repeating a state that is not terminal is allowed."""
    if before in TERMINAL:
        return False
    return after != "submitted" or before == "submitted"


DEADLINE_KEY: Final = "urn:pentad:a2a:deadline"
"""In a message's metadata: the number of seconds in which the task must be finished. In a status: that the deadline is
near or has passed."""
BUDGET_KEY: Final = "budget"
"""The metadata key, on a task and its status events, for what it may use and has used (`tasks/budgets.py`)."""
LIMITS_KEY: Final = "urn:pentad:a2a:budget"
"""The metadata key, on a message or a request, for limits set by its sender."""

Dialect = Literal["agentvault", "0.3", "1.0", "mcp"]
Role = Literal["user", "agent"]
Json: TypeAlias = dict[str, Any]


class Part(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One piece of content: text, bytes in base64 (`raw`), a URL, or a JSON value (null counts)."""

    text: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    data: Any = UNSET
    filename: str | None = None
    media_type: str | None = None
    metadata: Json | None = None

    @property
    def raw_bytes(self) -> bytes | None:
        """The bytes in `raw`; None if it is not such a part."""
        return None if self.raw is UNSET else base64.b64decode(standard_base64(self.raw))


def standard_base64(text: str) -> str:
    """Base64 in the standard alphabet, padded. Callers may use either alphabet and leave the padding out."""
    plain = text.translate(_STANDARD_ALPHABET).rstrip("=")
    return plain + "=" * (-len(plain) % 4)


class Message(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A message of the user or the agent."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    task_id: str | None = None
    context_id: str | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return "\n".join([part.text for part in self.parts if part.text is not UNSET])


EVENT: Final = "urn:pentad:a2a:event:v1"
"""The name in a message's metadata of the event that the message signals (`turn.wait_for`)."""


def event_name(message: Message) -> str | None:
    """The name of the event a message signals, if any."""
    found = message.metadata.get(EVENT) if message.metadata else None
    return found if isinstance(found, str) else None


class Artifact(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Something an agent made."""

    id: str
    parts: tuple[Part, ...]
    name: str | None = None
    description: str | None = None
    metadata: Json | None = None
    extensions: tuple[str, ...] = ()


class StatusEvent(Struct, frozen=True, omit_defaults=True, tag="status"):
    """The task has a new state. Its message, if any, becomes part of the history."""

    state: State
    message: Message | None = None
    metadata: Json | None = None


class MessageEvent(Struct, frozen=True, omit_defaults=True, tag="message"):
    """A message of the user, or one the agent sends before its result."""

    message: Message


class ArtifactEvent(Struct, frozen=True, omit_defaults=True, tag="artifact"):
    """A new artifact, or (`append`) more parts of one. `last` says that it is complete."""

    artifact: Artifact
    append: bool = False
    last: bool = True
    metadata: Json | None = None


Body: TypeAlias = StatusEvent | MessageEvent | ArtifactEvent


class Event(Struct, frozen=True):
    """One entry of a task's log. `seq` counts from 1 without gaps."""

    seq: int
    at: float
    body: Body


class Origin(Struct, frozen=True, omit_defaults=True):
    """Where a task comes from: the task whose agent started it, the place of that call in its journal, and the trace
    context (W3C) it was started with.
    """

    parent: str | None = None
    step: str | None = None
    trace: str | None = None


class Task(Struct, kw_only=True):
    """A task after event `seq`. Treat it as immutable: `apply_event` returns a new one."""

    id: str
    context_id: str
    agent: str
    owner: str
    dialect: Dialect
    state: State = "submitted"
    status_message: Message | None = None
    status_at: float = 0.0
    created_at: float = 0.0
    updated_at: float = 0.0
    seq: int = 0
    history: list[Message] = []
    artifacts: list[Artifact] = []
    metadata: Json | None = None
    deadline: float | None = None
    """The caller's deadline for it."""
    origin: Origin | None = None
    """None for a task that a caller sent without a trace."""


class PushConfig(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where to send push notifications of a task, and in which dialect."""

    url: str
    dialect: Dialect
    id: str = ""
    token: str | None = None
    scheme: str | None = None
    credentials: str | None = None


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """What an agent wants to have approved, and by whom."""

    what: str
    by: tuple[str, ...]
    """Roles, scopes, people or groups; one of them has to decide."""
    details: Json | None = None
    deadline: float | None = None
    """In seconds; None for the operator's default."""
    requester_may_decide: bool = False


class Decision(Struct, frozen=True, kw_only=True):
    """The outcome of an approval. It is falsy unless approved."""

    id: str
    outcome: Literal["approved", "refused", "expired"]
    by: str = ""
    """The principal that decided, such as `user:ada`; empty if nobody did in time."""
    reason: str = ""
    at: float = 0.0

    @property
    def approved(self) -> bool:
        return self.outcome == "approved"

    def __bool__(self) -> bool:
        return self.approved


class TaskPage(Struct, frozen=True, kw_only=True):
    """A page of tasks, newest first. `next` is the cursor of the next page."""

    tasks: list[Task]
    total: int
    next: str | None = None


def apply_event(task: Task, event: Event) -> Task:
    """The task after one more event."""
    return apply_events(task, (event,))


def apply_events(task: Task, events: "tuple[Event, ...] | list[Event]") -> Task:
    """The task after these events, in order."""
    history, artifacts = list(task.history), None
    state, status_message, status_at = task.state, task.status_message, task.status_at
    seq, at, metadata = task.seq, task.updated_at, task.metadata
    for event in events:
        body, seq, at = event.body, event.seq, event.at
        if isinstance(body, StatusEvent):
            state, status_message, status_at = body.state, body.message, at
            if body.message is not None:
                history.append(body.message)
            if body.metadata is not None and BUDGET_KEY in body.metadata:
                metadata = {**(metadata or {}), BUDGET_KEY: body.metadata[BUDGET_KEY]}
        elif isinstance(body, MessageEvent):
            history.append(body.message)
        else:
            artifacts = artifacts or _Artifacts(task.artifacts)
            artifacts.put(body)
    return Task(
        id=task.id,
        context_id=task.context_id,
        agent=task.agent,
        owner=task.owner,
        dialect=task.dialect,
        state=state,
        status_message=status_message,
        status_at=status_at,
        created_at=task.created_at,
        updated_at=at,
        seq=seq,
        history=history,
        artifacts=list(task.artifacts) if artifacts is None else artifacts.all(),
        metadata=metadata,
        origin=task.origin,
        deadline=task.deadline,
    )


class _Artifacts:
    """Artifacts during a fold. Chunks are collected in lists, to avoid copying them again and again."""

    __slots__ = ("_grown", "_known")

    def __init__(self, known: list[Artifact]) -> None:
        self._known = list(known)
        self._grown: dict[int, list[Part]] = {}

    def put(self, body: ArtifactEvent) -> None:
        """Add an artifact, replace the one with its id, or append to it."""
        new = body.artifact
        for position, old in enumerate(self._known):
            if old.id == new.id:
                if body.append:
                    self._grown.setdefault(position, list(old.parts)).extend(new.parts)
                    self._known[position] = _with_changes(old, new)
                else:
                    self._grown.pop(position, None)
                    self._known[position] = new
                return
        self._known.append(new)

    def all(self) -> list[Artifact]:
        for position, parts in self._grown.items():
            self._known[position] = replace(self._known[position], parts=tuple(parts))
        return self._known


def _with_changes(old: Artifact, new: Artifact) -> Artifact:
    """The artifact with a chunk's changes to the artifact as a whole."""
    if new.name in (None, old.name) and not new.description and not new.metadata and not new.extensions:
        return old
    return replace(
        old,
        name=new.name if new.name is not None else old.name,
        description=new.description if new.description is not None else old.description,
        metadata={**(old.metadata or {}), **new.metadata} if new.metadata else old.metadata,
        extensions=new.extensions or old.extensions,
    )
