"""One connection, in its own thread, that receives every signal of the store and reconnects after an outage.

The connection also holds a shared advisory lock that says "a server runs on this store"; `restore` needs it
exclusively. Another lock identifies the session: the server releases it when the process dies, on any machine.

Signals sent while the connection is down are lost. A signal only ever says that something changed, so code that
depends on signals also polls from time to time.
"""

import logging
import random
import secrets
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from pentad.kernel.errors import Conflict, PentadError
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Rows
from pentad.storage.errors import in_use
from pentad.storage.postgres_connection import CHANNEL, Connection
from pentad.storage.unit_of_work import Listeners, Signal

PRESENCE_LOCK = 0x50454E544144
"""The advisory lock of every open store: shared, or exclusive for a restore."""

_PATIENCE_MS = 5_000
"""A process that has just ended holds its lock until the server notices."""

_SESSION_LOCKS = 0x50454E54
"""The first key of the locks that identify sessions; the second is the session."""
_LONGEST_PAUSE = 0.5
"""Lost connections are restored before others conclude that the session has ended."""
_DISCONNECTED = "disconnected"
_log = logging.getLogger(__name__)


class PostgresListener:
    """Delivers signals to `listeners` from `start` to `close`."""

    def __init__(self, connect: Callable[[], Connection], listeners: Listeners, *, exclusive: bool = False) -> None:
        self._connect = connect
        self._listeners = listeners
        self._exclusive = exclusive
        self._incidents = Incidents(_log)
        self._thread: threading.Thread | None = None
        self._session = secrets.randbits(31)

    @property
    def session(self) -> str:
        """This process's session; `open_sessions` includes it while the connection is up."""
        return str(self._session)

    def start(self) -> None:
        """Connect and listen; from then on no signal is missed while the server is up. Blocks until connected."""
        connection = self._open()
        self._ended, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, args=(connection,), name="pentad-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection."""
        if self._thread is not None:
            self._end.close()
            self._thread.join()
            self._ended.close()

    def _open(self) -> Connection:
        connection = self._connect()
        try:
            lock = "pg_advisory_lock" if self._exclusive else "pg_advisory_lock_shared"
            connection.execute(f"SET lock_timeout = '{_PATIENCE_MS}ms'".encode())
            connection.execute(f"SELECT {lock}(%s::bigint)".encode(), (PRESENCE_LOCK,))
            connection.execute(b"SELECT pg_advisory_lock(%s, %s)", (_SESSION_LOCKS, self._session))
            connection.execute(b"RESET lock_timeout")
            connection.execute(f"LISTEN {CHANNEL}".encode())
        except psycopg.errors.LockNotAvailable:
            connection.close()
            raise (in_use() if self._exclusive else _being_restored()) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _serve(self, connection: Connection) -> None:
        pause = 0.05
        while True:
            try:
                if self._receive(connection):
                    connection.close()
                    return
            except (psycopg.Error, OSError):
                connection.close()
            self._incidents.note(_DISCONNECTED, "Signals of other processes are not received: the connection was lost")
            while (again := self._reconnect()) is None:
                if self._wait(pause * random.uniform(0.5, 1.0)):  # noqa: S311  jitter, not a secret
                    return
                pause = min(pause * 2, _LONGEST_PAUSE)
            connection, pause = again, 0.05
            self._incidents.over(_DISCONNECTED, "Signals of other processes are received again.")

    def _reconnect(self) -> Connection | None:
        with suppress(PentadError, psycopg.Error):
            return self._open()
        return None

    def _receive(self, connection: Connection) -> bool:
        """Deliver signals until `close`, then return True; an outage raises."""
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


def open_sessions(rows: Rows) -> set[str]:
    """The sessions of all processes on the store."""
    found = rows.all(
        "SELECT CAST(objid AS BIGINT) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
        " AND classid = CAST(? AS BIGINT)::oid"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        _SESSION_LOCKS,
    )
    return {str(session) for (session,) in found}


def _signal(text: str) -> Signal:
    channel, _, payload = text.partition("\n")
    return channel, payload


def _being_restored() -> Conflict:
    return Conflict("The store is being restored by another process.", hint="Start again when that has finished.")
