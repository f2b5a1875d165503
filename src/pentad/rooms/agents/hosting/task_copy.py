"""Copies a remote agent's reports into the log: events as they arrive and, from a whole task, only what is new. Reports
that are repeated, for example after a broken connection, appear in the log once.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from pentad.kernel.ids import uuid7_text
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import (
    BUDGET_KEY,
    DEADLINE_KEY,
    INTERRUPTED,
    RESTING,
    TERMINAL,
    Artifact,
    ArtifactEvent,
    Body,
    Event,
    Json,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
)

_MAX_ID: Final = 200


class TaskCopy:
    """The copy of one task in the log of a turn."""

    def __init__(self, turn: Turn, *, has_ids: bool) -> None:
        self._turn = turn
        self._has_ids = has_ids
        """Whether messages have ids. If not, their content identifies them."""
        self._known = Counter(self._mark(one) for one in turn.history if one.role == "agent")
        self._parts = {one.id: list(one.parts) for one in turn.task.artifacts}
        self.question: StatusEvent | None = None
        """What the agent waits for. It is not in the log yet: it ends the turn."""
        self.is_over = False

    async def add(self, item: Task | Event) -> None:
        if isinstance(item, Task) and item.state not in INTERRUPTED:
            self.question = None
        for body in self._new_events(item) if isinstance(item, Task) else (item.body,):
            await self._append(body)

    def _new_events(self, task: Task) -> list[Body]:
        """What is in the task but not yet in the log."""
        found: list[Body] = []
        last = task.status_message
        seen = Counter[str]()
        for message in task.history:
            mark = self._mark(message)
            seen[mark] += 1
            is_last = last is not None and message.id == last.id
            if message.role == "agent" and seen[mark] > self._known[mark] and not is_last:
                found.append(MessageEvent(message))
        for artifact in task.artifacts:
            found.extend(self._changes(artifact))
        if task.state in RESTING or (last is not None and not self._known[self._mark(last)]):
            found.append(StatusEvent(task.state, last))
        return found

    def _changes(self, artifact: Artifact) -> list[Body]:
        old = self._parts.get(artifact.id)
        if old is None:
            return [ArtifactEvent(artifact)]
        if tuple(old) == artifact.parts:
            return []
        ours, theirs = _joined(old), _joined(artifact.parts)
        if ours is not None and theirs is not None and theirs.startswith(ours):
            more = theirs[len(ours) :]
            return [ArtifactEvent(replace(artifact, parts=(Part(text=more),)), append=True)] if more else []
        if tuple(old) == artifact.parts[: len(old)]:
            return [ArtifactEvent(replace(artifact, parts=artifact.parts[len(old) :]), append=True)]
        return [ArtifactEvent(artifact)]

    async def _append(self, body: Body) -> None:
        if isinstance(body, ArtifactEvent):
            parts = self._parts.setdefault(body.artifact.id, [])
            if not body.append:
                parts.clear()
            parts.extend(body.artifact.parts)
            await self._turn.emit(body)
            return
        if isinstance(body, MessageEvent):
            if body.message.role == "agent":
                await self._turn.emit(MessageEvent(self._own(body.message)))
            return
        if body.state == "submitted":
            return
        message = None if body.message is None else self._own(body.message)
        status = StatusEvent(body.state, message, _foreign_metadata(body.metadata))
        self.question = status if body.state in INTERRUPTED else None
        if self.question is None:
            await self._turn.emit(status)
            self.is_over = body.state in TERMINAL

    def _own(self, message: Message) -> Message:
        """Convert an agent's message to one of our task."""
        self._known[self._mark(message)] += 1
        return replace(
            message,
            id=message.id[:_MAX_ID] or uuid7_text(),
            role="agent",
            task_id=self._turn.id,
            context_id=self._turn.context_id,
            references=(),
        )

    def _mark(self, message: Message) -> str:
        return message.id[:_MAX_ID] if self._has_ids else msgspec.json.encode(message.parts).decode()


def _foreign_metadata(metadata: Json | None) -> Json | None:
    """Metadata of a remote status, without budget and deadline, which are the remote task's."""
    found = {key: value for key, value in (metadata or {}).items() if key not in (BUDGET_KEY, DEADLINE_KEY)}
    return found or None


def _joined(parts: Sequence[Part]) -> str | None:
    """The joined text, if all parts are text. Some servers join chunks."""
    if all(part.text is not UNSET for part in parts):
        return "".join(str(part.text) for part in parts)
    return None
