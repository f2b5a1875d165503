"""One connection that hears every signal of the store, in a thread of its own, and comes back after an outage.

The same connection holds a shared advisory lock for as long as it lives: it says "a server runs on this store", and
`restore` needs it exclusively. Signals sent while the connection is down are not heard; they only ever say that
something changed, and whoever needs more looks it up.
"""

import logging
import random
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from pentad.kernel.errors import Conflict, PentadError
from pentad.kernel.incidents import Incidents
from pentad.storage.listeners import Listeners, Signal
from pentad.storage.postgres_rows import CHANNEL, Connection

PRESENCE_LOCK = 0x50454E544144
"""The advisory lock every open store holds, shared or (for a restore) alone."""

_PATIENCE_MS = 5_000
"""A process that has just ended holds its lock until the server notices."""

_LONGEST_PAUSE = 1.0
_DEAF = "deaf"
_log = logging.getLogger(__name__)


class PostgresListener:
    """Delivers signals to `listeners` from `start` to `close`."""

    def __init__(self, connect: Callable[[], Connection], listeners: Listeners, *, alone: bool = False) -> None:
        self._connect = connect
        self._listeners = listeners
        self._alone = alone
        self._incidents = Incidents(_log)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect and listen; afterwards no signal is missed while the server is up. Blocks for the connection."""
        connection = self._attend()
        self._ended, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, args=(connection,), name="pentad-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection."""
        if self._thread is not None:
            self._end.close()
            self._thread.join()
            self._ended.close()

    def _attend(self) -> Connection:
        connection = self._connect()
        try:
            lock = "pg_advisory_lock" if self._alone else "pg_advisory_lock_shared"
            connection.execute(f"SET lock_timeout = '{_PATIENCE_MS}ms'".encode())
            connection.execute(f"SELECT {lock}(%s::bigint)".encode(), (PRESENCE_LOCK,))
            connection.execute(b"RESET lock_timeout")
            connection.execute(f"LISTEN {CHANNEL}".encode())
        except psycopg.errors.LockNotAvailable:
            connection.close()
            raise _taken(alone=self._alone) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _serve(self, connection: Connection) -> None:
        pause = 0.05
        while True:
            try:
                if self._hear(connection):
                    connection.close()
                    return
            except (psycopg.Error, OSError):
                connection.close()
            self._incidents.note(_DEAF, "The signals of other processes are not heard: the connection was lost")
            while (again := self._reconnected()) is None:
                if self._wait(pause * random.uniform(0.5, 1.0)):  # noqa: S311  jitter, not a secret
                    return
                pause = min(pause * 2, _LONGEST_PAUSE)
            connection, pause = again, 0.05
            self._incidents.over(_DEAF, "The signals of other processes are heard again.")

    def _reconnected(self) -> Connection | None:
        with suppress(PentadError, psycopg.Error):
            return self._attend()
        return None

    def _hear(self, connection: Connection) -> bool:
        """Deliver until told to end; an outage is an exception."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._ended, selectors.EVENT_READ)
            selector.register(connection.fileno(), selectors.EVENT_READ)
            while True:
                self._listeners.deliver([_signal(note.payload) for note in connection.notifies(timeout=0)])
                if any(key.fileobj is self._ended for key, _ in selector.select()):
                    return True

    def _wait(self, seconds: float) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ended, selectors.EVENT_READ)
            return bool(selector.select(seconds))


def _signal(text: str) -> Signal:
    channel, _, payload = text.partition("\n")
    return channel, payload


def _taken(*, alone: bool) -> Conflict:
    if alone:
        return Conflict("Another process has the store open.", hint="Stop every Pentad server on it first.")
    return Conflict("The store is being restored by another process.", hint="Start again when that has finished.")
