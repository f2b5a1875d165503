"""Caches recently created or read tasks, already folded. The log stays the only source of truth.

An entry is used only if its event number is known to be the latest, or its state can no longer change.
"""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.lru import LruCache
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
        self._entries = LruCache[str, _Entry](_MAX_BYTES, lambda entry: max(entry.size, _MAX_BYTES // _MAX_TASKS))

    def put(self, task: Task, size: int) -> None:
        self._entries.put(task.id, _Entry(task, size))

    def grow(self, task_id: str, events: Sequence[Event], size: int) -> None:
        """Add events to a task, to be folded in on the next read."""
        entry = self._entries.pop(task_id)  # the cache measures entries when they come and go, so not while they grow
        if entry is None:
            return
        newest = entry.pending[-1].seq if entry.pending else entry.task.seq
        if events[0].seq == newest + 1:
            entry.pending.extend(events)
            entry.size += size
            self._entries.put(task_id, entry)

    def get(self, task_id: str) -> Task | None:
        entry = self._entries.get(task_id)
        if entry is None:
            return None
        if entry.pending:
            entry.task = apply_events(entry.task, entry.pending)
            entry.pending = []
        return entry.task

    def forget(self, task_id: str) -> None:
        self._entries.pop(task_id)
