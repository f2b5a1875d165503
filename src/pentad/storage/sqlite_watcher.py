"""Receives the signals of other processes on the same SQLite file.

SQLite sends no notifications, but `PRAGMA data_version` says within microseconds whether anyone committed. A thread
polls it every 50 ms while there are listeners. The writer delivers this process's own signals, so they are skipped.
`COMMITS` is for listeners that look for new rows instead; it includes this process's own commits.
"""

import threading
from collections.abc import Callable

import apsw

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import COMMITS
from pentad.storage.health import StoreHealth
from pentad.storage.sqlite_connection import SqliteConnection
from pentad.storage.sqlite_errors import translate_error
from pentad.storage.unit_of_work import Listeners

_PERIOD_SECONDS = 0.05


class Watcher:
    """Delivers signals of other processes to `listeners` once `watch` has been called."""

    def __init__(
        self, connect: Callable[[], SqliteConnection], listeners: Listeners, health: StoreHealth, *, origin: str
    ) -> None:
        self._connect = connect
        self._listeners = listeners
        self._health = health
        self._origin = origin
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._has_listeners = threading.Event()
        self._connection: SqliteConnection | None = None
        self._thread: threading.Thread | None = None
        self._position = 0
        self._version = -1

    def watch(self) -> None:
        """Deliver everything committed after this call. Call it after adding the listener."""
        with self._lock:
            if self._has_listeners.is_set():
                return
            if self._connection is None:
                self._connection = self._connect()
            self._version = -1
            self._position = self._newest(self._connection)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="pentad-watcher", daemon=True)
                self._thread.start()
            self._has_listeners.set()

    def close(self) -> None:
        """End the thread. Blocks briefly."""
        self._stop.set()
        self._has_listeners.set()
        if self._thread is not None:
            self._thread.join()
        if self._connection is not None:
            self._connection.close()

    def _serve(self) -> None:
        while not self._stop.wait(_PERIOD_SECONDS):
            self._has_listeners.wait()
            with self._lock:
                if not len(self._listeners):
                    self._has_listeners.clear()
                elif not self._stop.is_set():
                    try:
                        self._poll()
                    except apsw.BusyError:
                        continue
                    except apsw.Error as error:  # poll again later
                        self._health.record(translate_error(error), "read")

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
        foreign = [(row[2], row[3]) for row in rows if row[1] != self._origin]
        self._listeners.deliver([(COMMITS, ""), *foreign])

    @staticmethod
    def _newest(connection: SqliteConnection) -> int:
        try:
            return connection.execute("SELECT coalesce(max(id), 0) FROM signals").get
        except apsw.SQLError as error:
            raise Misconfigured("The store has not been set up yet.", hint="Run the migrations first.") from error
