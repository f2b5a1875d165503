"""Who wants to hear which signal, and how it reaches them: on their own event loop, after the commit.

Both dialects end here; how a signal comes from another process is the business of `sqlite_watcher.py` and
`postgres_listener.py`.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable

Signal = tuple[str, str]
"""A channel and a payload."""

_log = logging.getLogger(__name__)


class _Listener:
    __slots__ = ("active", "heard", "loop")

    def __init__(self, heard: Callable[[str], None]) -> None:
        self.heard = heard
        self.loop = asyncio.get_running_loop()
        self.active = True


class Listeners:
    """A registry that any thread may deliver to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_channel: dict[str, list[_Listener]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_channel.values()))

    def add(self, channel: str, heard: Callable[[str], None]) -> Callable[[], None]:
        """Call `heard` on the running event loop from now on; the returned function ends it, at once."""
        listener = _Listener(heard)
        with self._lock:
            self._by_channel.setdefault(channel, []).append(listener)

        def end() -> None:
            with self._lock:
                listener.active = False
                remaining = self._by_channel.get(channel, [])
                if listener in remaining:
                    remaining.remove(listener)
                if not remaining:
                    self._by_channel.pop(channel, None)

        return end

    def deliver(self, signals: Iterable[Signal]) -> None:
        """Hand signals, in order, to whoever listens."""
        calls: dict[asyncio.AbstractEventLoop, list[tuple[_Listener, str]]] = {}
        with self._lock:
            for channel, payload in signals:
                for listener in self._by_channel.get(channel, ()):
                    calls.setdefault(listener.loop, []).append((listener, payload))
        for loop, heard in calls.items():
            try:
                loop.call_soon_threadsafe(_tell, heard)
            except RuntimeError:  # the loop is closed, and its listeners with it
                continue


def _tell(calls: list[tuple[_Listener, str]]) -> None:
    for listener, payload in calls:
        if not listener.active:
            continue
        try:
            listener.heard(payload)
        except Exception:  # noqa: BLE001  one listener's mistake is not another's
            _log.exception("A listener failed on a signal.")
