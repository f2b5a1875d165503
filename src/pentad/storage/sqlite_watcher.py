"""Hearing the signals of other processes on the same SQLite file.

SQLite has no way to be told, but `PRAGMA data_version` says for a few microseconds whether anyone committed. A thread
asks every 50 ms, and only while somebody listens. Own signals are delivered directly and skipped here.
"""

import threading
from collections.abc import Callable

import apsw

from pentad.kernel.errors import Misconfigured
from pentad.storage.health import StoreHealth
from pentad.storage.listeners import Listeners
from pentad.storage.sqlite_errors import translated
from pentad.storage.sqlite_handle import SqliteHandle

_PERIOD_SECONDS = 0.05


class Watcher:
    """Delivers foreign signals to `listeners` from the moment `watch` is called."""

    def __init__(
        self, connect: Callable[[], SqliteHandle], listeners: Listeners, health: StoreHealth, *, origin: str
    ) -> None:
        self._connect = connect
        self._listeners = listeners
        self._health = health
        self._origin = origin
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wanted = threading.Event()
        self._connection: SqliteHandle | None = None
        self._thread: threading.Thread | None = None
        self._position = 0
        self._version = -1

    def watch(self) -> None:
        """Everything committed after this call will be heard. Call it after the listener was added."""
        with self._lock:
            if self._wanted.is_set():
                return
            if self._connection is None:
                self._connection = self._connect()
            self._version = -1
            self._position = self._newest(self._connection)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="pentad-watcher", daemon=True)
                self._thread.start()
            self._wanted.set()

    def close(self) -> None:
        """End the thread. Blocks for a moment."""
        self._stop.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        if self._connection is not None:
            self._connection.close()

    def _serve(self) -> None:
        while not self._stop.wait(_PERIOD_SECONDS):
            self._wanted.wait()
            with self._lock:
                if not len(self._listeners):
                    self._wanted.clear()
                elif not self._stop.is_set():
                    try:
                        self._poll()
                    except apsw.BusyError:
                        continue
                    except apsw.Error as error:  # ask again later
                        self._health.noted(translated(error), "read")

    def _poll(self) -> None:
        connection = self._connection
        if connection is None or (version := connection.pragma("data_version")) == self._version:
            return
        rows = connection.execute(
            "SELECT id, origin, channel, payload FROM signals WHERE id > ? ORDER BY id", (self._position,)
        ).fetchall()
        self._version = version
        if rows:
            self._position = rows[-1][0]
            self._listeners.deliver((row[2], row[3]) for row in rows if row[1] != self._origin)

    @staticmethod
    def _newest(connection: SqliteHandle) -> int:
        try:
            return connection.execute("SELECT coalesce(max(id), 0) FROM signals").get
        except apsw.SQLError as error:
            raise Misconfigured("The store has not been set up yet.", hint="Run the migrations first.") from error
