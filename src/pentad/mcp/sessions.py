"""Sessions of the legacy era, kept in the store: valid on every worker and after a restart.

Nothing is held in memory for an idle session. What the store said of a busy one is trusted for a tenth of a second;
whoever ends a session waits that long before saying so, and then it is ended in every process.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.errors import Overloaded, PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.limits import Limits
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import LOCAL
from pentad.mcp.revisions import REVISIONS, Revision

_TOUCH_SECONDS: Final = 60.0
_TRUST_SECONDS: Final = 0.1
_MOST_TRUSTED: Final = 256
_FIND: Final = "SELECT principal, endpoint, revision, client, log_level, touched_at FROM mcp_sessions WHERE id = ?"


@dataclass(slots=True)
class Session:
    """One conversation of one principal with one endpoint."""

    id: str
    principal: str
    endpoint: str
    revision: Revision
    client: str
    log_level: str | None
    touched_at: float

    def capabilities(self) -> dict[str, Any]:
        """What the client said at `initialize` that it can do."""
        return msgspec.json.decode(self.client).get("capabilities", {})

    def client_info(self) -> dict[str, Any]:
        """How the client introduced itself at `initialize`."""
        return msgspec.json.decode(self.client).get("clientInfo", {})


class SessionBook:
    """Opens, finds, keeps alive and ends sessions."""

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
        self._trusted: dict[str, tuple[Session, float]] = {}

    async def begin(self, principal: str, endpoint: str, revision: Revision, client: dict[str, Any]) -> Session:
        """Open a session; its id is random and means nothing without the principal it was made for."""
        now = self._clock.now()
        stored = msgspec.json.encode(client).decode("utf-8")
        session = Session(self._make_id(self._randomness), principal, endpoint, revision, stored, None, now)

        def insert(transaction: Transaction) -> None:
            self._make_room(transaction, principal, now)
            transaction.run(
                "INSERT INTO mcp_sessions (id, principal, endpoint, revision, client, created_at, touched_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                session.id, principal, endpoint, revision.name, stored, now, now,
            )  # fmt: skip

        await self._database.write(insert)
        return session

    def _make_room(self, transaction: Transaction, principal: str, now: float) -> None:
        """Expired sessions go; a principal over its share loses its oldest; a full house is said."""
        transaction.run("DELETE FROM mcp_sessions WHERE touched_at < ?", self._expired_before(now))
        if transaction.value("SELECT count(*) FROM mcp_sessions") >= self._limits.sessions:
            raise Overloaded(
                "The server has as many sessions as it allows.", retry_after=60, hint="End one with DELETE."
            )
        if principal == LOCAL.id:
            return
        held = transaction.value("SELECT count(*) FROM mcp_sessions WHERE principal = ?", principal)
        if held >= self._limits.sessions_per_principal:
            transaction.run(
                "DELETE FROM mcp_sessions WHERE id IN"
                " (SELECT id FROM mcp_sessions WHERE principal = ? ORDER BY touched_at LIMIT 1)",
                principal,
            )

    def _expired_before(self, now: float) -> float:
        return now - self._limits.session_idle_seconds - _TOUCH_SECONDS

    async def find(self, session_id: str, principal: str, endpoint: str) -> Session | None:
        """The session, if it lives and is this principal's; another's looks exactly like none."""
        now = self._clock.now()
        session = self._known(session_id)
        if session is None:
            asked_at = self._clock.monotonic()
            row = await self._database.lookup(_FIND, session_id)
            if row is None:
                return None
            owner, place, revision, client, log_level, touched = row
            if revision not in REVISIONS:
                return None
            session = Session(session_id, owner, place, REVISIONS[revision], client, log_level, touched)
            self._remember(session, asked_at)
        if session.principal != principal or session.endpoint != endpoint:
            return None
        if session.touched_at < self._expired_before(now):
            with suppress(PentadError):  # an expired one is found by nobody, and goes another time
                await self._drop(session)
            return None
        if now - session.touched_at > _TOUCH_SECONDS:
            session.touched_at = now
            with suppress(PentadError):  # who only reads must not fail because the store cannot write
                await self._update(session.id, "touched_at = ?", now)
        return session

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
        """End a session, with its streams and subscriptions; returns when no process believes in it any more."""
        await self._drop(session)
        await asyncio.sleep(_TRUST_SECONDS)

    async def _drop(self, session: Session) -> None:
        await self._database.write(lambda tx: tx.run("DELETE FROM mcp_sessions WHERE id = ?", session.id))
        self._trusted.pop(session.id, None)

    async def subscribe(self, session: Session, uri: str) -> None:
        await self._database.write(
            lambda transaction: transaction.run(
                "INSERT INTO mcp_subscriptions (session, uri) VALUES (?, ?) ON CONFLICT DO NOTHING", session.id, uri
            )
        )

    async def unsubscribe(self, session: Session, uri: str) -> None:
        await self._database.write(
            lambda transaction: transaction.run(
                "DELETE FROM mcp_subscriptions WHERE session = ? AND uri = ?", session.id, uri
            )
        )

    async def is_subscribed(self, session_id: str, uri: str) -> bool:
        found = await self._database.lookup(
            "SELECT 1 FROM mcp_subscriptions WHERE session = ? AND uri = ?", session_id, uri
        )
        return found is not None

    def _known(self, session_id: str) -> Session | None:
        found = self._trusted.get(session_id)
        return found[0] if found is not None and self._clock.monotonic() < found[1] else None

    def _remember(self, session: Session, asked_at: float) -> None:
        if len(self._trusted) >= _MOST_TRUSTED:
            self._trusted.clear()
        self._trusted[session.id] = (session, asked_at + _TRUST_SECONDS)
