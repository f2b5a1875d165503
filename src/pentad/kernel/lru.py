"""A bounded cache: when it is full, the least recently used entries go first."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps up to `limit` entries; with `size`, entries of up to `limit` in total size.

    Not thread-safe: threads that share it need a lock.
    """

    __slots__ = ("_entries", "_size_of", "limit", "size")

    def __init__(self, limit: int, size: Callable[[V], int] | None = None) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._size_of = size
        self.limit = limit
        self.size = 0
        """The total size of the entries; their number if they have no size."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        """The value, or None. Reading counts as a use."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """The value, without counting as a use."""
        return self._entries.get(key)

    def put(self, key: K, value: V) -> list[V]:
        """Add or replace an entry; returns the evicted values."""
        self.pop(key)
        self._entries[key] = value
        self.size += self._size(value)
        gone: list[V] = []
        while self.size > self.limit and len(self._entries) > 1:
            _, oldest = self._entries.popitem(last=False)
            self.size -= self._size(oldest)
            gone.append(oldest)
        return gone

    def pop(self, key: K) -> V | None:
        """Remove an entry and return its value, if there is one."""
        value = self._entries.pop(key, None)
        if value is not None:
            self.size -= self._size(value)
        return value

    def drop_where(self, test: Callable[[K, V], bool]) -> None:
        """Remove the entries for which the test is true."""
        for key in [key for key, value in self._entries.items() if test(key, value)]:
            self.pop(key)

    def values(self) -> Iterable[V]:
        """All values, the least recently used first."""
        return self._entries.values()

    def clear(self) -> None:
        self._entries.clear()
        self.size = 0

    def _size(self, value: V) -> int:
        return 1 if self._size_of is None else self._size_of(value)
