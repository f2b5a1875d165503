"""Sessions of the legacy era, kept in the store: valid in every worker process and after a restart.

An idle session uses no memory. A busy one is cached for a tenth of a second. Ending a session waits that long before
responding, so that by then the session has ended in every process.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Overloaded, PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import LOCAL
from pentad.mcp.revisions import REVISIONS, Revision

_TOUCH_SECONDS: Final = 60.0
_CACHE_SECONDS: Final = 0.1
_MOST_CACHED: Final = 256
_FIND: Final = "SELECT principal, endpoint, revision, client, log_level, touched_at FROM mcp_sessions WHERE id = ?"


@dataclass(slots=True)
class Session:
    """A session of one principal with one endpoint."""

    id: str
    principal: str
    endpoint: str
    revision: Revision
    client: str
    log_level: str | None
    touched_at: float

    def capabilities(self) -> dict[str, Any]:
        """The client's capabilities, from `initialize`."""
        return msgspec.json.decode(self.client).get("capabilities", {})

    def client_info(self) -> dict[str, Any]:
        """The client's name and version, from `initialize`."""
        return msgspec.json.decode(self.client).get("clientInfo", {})


class SessionStore:
    """Creates, finds, keeps alive and ends sessions."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        limits: Limits,
        randomness: Randomness | None = None,
        make_id: Callable[[Randomness], str] = opaque_id,
    ) -> None:
        self._database = database
        self._clock = clock
        self._limits = limits
        self._randomness = randomness or SystemRandomness()
        self._make_id = make_id
        self._cache: dict[str, tuple[Session, float]] = {}

    async def create(self, principal: str, endpoint: str, revision: Revision, client: dict[str, Any]) -> Session:
        """Create a session. Its id is random and works only for this principal."""
        now = self._clock.now()
        stored = msgspec.json.encode(client).decode("utf-8")
        session = Session(self._make_id(self._randomness), principal, endpoint, revision, stored, None, now)

        def insert(transaction: Transaction) -> None:
            self._evict(transaction, principal, now)
            transaction.run(
                "INSERT INTO mcp_sessions (id, principal, endpoint, revision, client, created_at, touched_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                session.id, principal, endpoint, revision.name, stored, now, now,
            )  # fmt: skip

        await self._database.write(insert)
        return session

    def _evict(self, transaction: Transaction, principal: str, now: float) -> None:
        """Delete expired sessions, and the principal's oldest one if it has too many. Raises if the server is full."""
        transaction.run("DELETE FROM mcp_sessions WHERE touched_at < ?", self._expired_before(now))
        if transaction.value("SELECT count(*) FROM mcp_sessions") >= self._limits.sessions:
            raise Overloaded(
                "The server has reached its limit of sessions.", retry_after=60, hint="End one with DELETE."
            )
        if principal == LOCAL.id:
            return
        count = transaction.value("SELECT count(*) FROM mcp_sessions WHERE principal = ?", principal)
        if count >= self._limits.sessions_per_principal:
            transaction.run(
                "DELETE FROM mcp_sessions WHERE id IN"
                " (SELECT id FROM mcp_sessions WHERE principal = ? ORDER BY touched_at LIMIT 1)",
                principal,
            )

    def _expired_before(self, now: float) -> float:
        return now - self._limits.session_idle_seconds - _TOUCH_SECONDS

    async def find(self, session_id: str, principal: str, endpoint: str) -> Session | None:
        """The session, if it is alive and belongs to this principal. Others' sessions are treated as unknown."""
        now = self._clock.now()
        session = self._cached(session_id)
        if session is None:
            read_at = self._clock.monotonic()
            row = await self._database.lookup(_FIND, session_id)
            if row is None:
                return None
            owner, path, revision, client, log_level, touched = row
            if revision not in REVISIONS:
                return None
            session = Session(session_id, owner, path, REVISIONS[revision], client, log_level, touched)
            self._put_into_cache(session, read_at)
        if session.principal != principal or session.endpoint != endpoint:
            return None
        if session.touched_at < self._expired_before(now):
            with suppress(PentadError):  # an expired session is never found, so it can be deleted later
                await self._delete(session)
            return None
        if now - session.touched_at > _TOUCH_SECONDS:
            session.touched_at = now
            with suppress(PentadError):  # reading must work even if the store refuses writes
                await self._update(session.id, "touched_at = ?", now)
        return session

    async def newest_client(self, principal: str, since: float) -> dict[str, Any] | None:
        """The name and version of the client in the newest session that a principal began since then; None if there is
        none."""
        row = await self._database.lookup(
            "SELECT client FROM mcp_sessions WHERE principal = ? AND touched_at >= ? AND created_at >= ?"
            " ORDER BY created_at DESC LIMIT 1",
            principal,
            since,
            since,
        )
        return None if row is None else msgspec.json.decode(row[0]).get("clientInfo", {})

    async def set_log_level(self, session: Session, level: str) -> None:
        session.log_level = level
        await self._update(session.id, "log_level = ?", level)

    async def _update(self, session_id: str, assignment: str, value: str | float) -> None:
        await self._database.write(
            lambda transaction: transaction.run(
                f"UPDATE mcp_sessions SET {assignment} WHERE id = ?",  # noqa: S608  two literals of this module
                value,
                session_id,
            )
        )

    async def end(self, session: Session) -> None:
        """End a session, with its streams and subscriptions. Returns when no process has it cached any more."""
        await self._delete(session)
        await asyncio.sleep(_CACHE_SECONDS)

    async def _delete(self, session: Session) -> None:
        await self._database.write(lambda tx: tx.run("DELETE FROM mcp_sessions WHERE id = ?", session.id))
        self._cache.pop(session.id, None)

    async def subscribe(self, session: Session, uri: str, announced: str) -> None:
        await self._database.write(
            lambda transaction: transaction.run(
                "INSERT INTO mcp_subscriptions (session, uri, announced) VALUES (?, ?, ?)"
                " ON CONFLICT (session, uri) DO UPDATE SET announced = excluded.announced",
                session.id,
                uri,
                announced,
            )
        )

    async def unsubscribe(self, session: Session, uri: str) -> None:
        await self._database.write(
            lambda transaction: transaction.run(
                "DELETE FROM mcp_subscriptions WHERE session = ? AND uri = ?", session.id, uri
            )
        )

    async def subscribed_uris(self, session_id: str, announced: str) -> list[str]:
        """The URIs with which the client subscribed to what is announced under this one."""
        sql = "SELECT uri FROM mcp_subscriptions WHERE session = ? AND announced = ? ORDER BY uri"
        return [uri for (uri,) in await self._database.read(lambda rows: rows.all(sql, session_id, announced))]

    def _cached(self, session_id: str) -> Session | None:
        found = self._cache.get(session_id)
        return found[0] if found is not None and self._clock.monotonic() < found[1] else None

    def _put_into_cache(self, session: Session, read_at: float) -> None:
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        self._cache[session.id] = (session, read_at + _CACHE_SECONDS)
