"""Caches recently created or read tasks, already folded. The log stays the only source of truth.

An entry is used only if its event number is known to be the latest, or its state can no longer change.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from pentad.rooms.agents.models import Event, Task, apply_events

_MAX_TASKS: Final = 2_048
_MAX_BYTES: Final = 32 * 1024 * 1024


class _Entry:
    __slots__ = ("pending", "size", "task")

    def __init__(self, task: Task, size: int) -> None:
        self.task = task
        self.size = size
        self.pending: list[Event] = []


class TaskCache:
    """The most recently used tasks, limited in number and size."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._size = 0

    def put(self, task: Task, size: int) -> None:
        self.forget(task.id)
        self._entries[task.id] = _Entry(task, size)
        self._grew(size)

    def grow(self, task_id: str, events: Sequence[Event], size: int) -> None:
        """Add events to a task, to be folded in on the next read."""
        entry = self._entries.get(task_id)
        if entry is None:
            return
        newest = entry.pending[-1].seq if entry.pending else entry.task.seq
        if events[0].seq != newest + 1:
            self.forget(task_id)
            return
        entry.pending.extend(events)
        entry.size += size
        self._grew(size)

    def get(self, task_id: str) -> Task | None:
        entry = self._entries.get(task_id)
        if entry is None:
            return None
        self._entries.move_to_end(task_id)
        if entry.pending:
            entry.task = apply_events(entry.task, entry.pending)
            entry.pending = []
        return entry.task

    def forget(self, task_id: str) -> None:
        if (entry := self._entries.pop(task_id, None)) is not None:
            self._size -= entry.size

    def _grew(self, size: int) -> None:
        self._size += size
        while self._size > _MAX_BYTES or len(self._entries) > _MAX_TASKS:
            _, oldest = self._entries.popitem(last=False)
            self._size -= oldest.size
