"""Organisations are tenants. A principal belongs to one organisation, or to the default one.

Every object read needs the caller's organisation, so memberships are kept in memory. They are loaded when the room
opens, when a process signals a change, and when they get old, because a signal can be lost while a connection is down.
"""

import asyncio
import logging
import re
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.registers.models import DEFAULT_ORGANISATION as DEFAULT
from pentad.rooms.registers.models import Caller

_log = logging.getLogger(__name__)

_CHANNEL: Final = "registers.members"
_OLD_SECONDS: Final = 30.0
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_COLUMNS: Final = "id, slug, title, created_at"
_HINTS: Final = {
    "objects": "Purge or move them first.",
    "registers": "Delete them, or give them to another organisation.",
    "schemas": "Delete them, or give them to another organisation.",
}


@dataclass(frozen=True, slots=True)
class Organisation:
    """One tenant."""

    id: str
    slug: str
    title: str
    created_at: float

    def wire(self) -> dict[str, Any]:
        return {"id": self.id, "slug": self.slug, "title": self.title, "created": iso(self.created_at)}


class Organisations:
    """The organisations and their members."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._members: dict[str, str] = {}
        self._loaded_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loading: asyncio.Task[None] | None = None
        self._is_outdated = False
        self._stop = database.listen(_CHANNEL, lambda _payload: self._reload())

    async def load(self) -> None:
        """Read all memberships."""
        self._loop = asyncio.get_running_loop()
        read_at = self._clock.monotonic()
        rows = await self._database.read(
            lambda rows: rows.all("SELECT principal, organisation FROM organisation_members")
        )
        self._members = dict[str, str](rows)
        self._loaded_at = read_at

    async def close(self) -> None:
        self._stop()
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    def of(self, principal: Principal) -> str:
        """The organisation of a principal. The store's threads call this too, inside units of work."""
        now = self._clock.monotonic()
        if now - self._loaded_at > _OLD_SECONDS and self._loop is not None:
            self._loaded_at = now
            self._loop.call_soon_threadsafe(self._reload)
        own = self._members.get(principal.id)
        if own is None and principal.user is not None:
            own = self._members.get(principal.user)
        return own or DEFAULT

    def _reload(self) -> None:
        """Load again, and once more if something changed meanwhile."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.get_running_loop().create_task(self._load_until_current())
        else:
            self._is_outdated = True

    async def _load_until_current(self) -> None:
        self._is_outdated = True
        while self._is_outdated:
            self._is_outdated = False
            try:
                await self.load()
            except PentadError as error:
                _log.warning("Memberships could not be read: %s", error.sentence())
                return

    async def members(self, caller: Caller, ref: str) -> list[str]:
        """The principals in an organisation."""
        require_admin(caller)

        def read(rows: Rows) -> list[Row]:
            found = _find(rows, ref)
            sql = "SELECT principal FROM organisation_members WHERE organisation = ? ORDER BY principal"
            return rows.all(sql, found.id)

        return [row[0] for row in await self._database.read(read)]

    async def list(self, caller: Caller, limit: int = 100, offset: int = 0) -> list[Organisation]:
        """All organisations for an administrator, otherwise the caller's own."""
        own = None if caller.principal.may("registers", "admin") else self.of(caller.principal)

        def read(rows: Rows) -> list[Row]:
            if own is not None:
                return rows.all(f"SELECT {_COLUMNS} FROM organisations WHERE id = ?", own)  # noqa: S608  own columns
            return rows.all(
                f"SELECT {_COLUMNS} FROM organisations ORDER BY slug LIMIT ? OFFSET ?",  # noqa: S608  own columns
                limit,
                offset,
            )

        return [Organisation(*row) for row in await self._database.read(read)]

    async def get(self, caller: Caller, ref: str) -> Organisation:
        """One organisation, by id or slug."""
        require_admin(caller)
        return await self._database.read(lambda rows: _find(rows, ref))

    async def create(self, caller: Caller, slug: str, title: str) -> Organisation:
        """Create an organisation without members."""
        require_admin(caller)
        if not _SLUG.fullmatch(slug) or slug == DEFAULT:
            raise InvalidInput(
                f"{slug[:80]!r} cannot name an organisation.", hint="Use a-z, 0-9 and -, at most 63, and not 'default'."
            )
        made = Organisation(str(uuid7(self._clock)), slug, title.strip() or slug, self._clock.now())

        def insert(transaction: Transaction) -> None:
            if transaction.value("SELECT 1 FROM organisations WHERE slug = ?", slug):
                raise Conflict(f"An organisation {slug!r} exists already.", hint="Choose another slug.")
            transaction.run(
                "INSERT INTO organisations (id, slug, title, created_at) VALUES (?, ?, ?, ?)",
                made.id, made.slug, made.title, made.created_at,
            )  # fmt: skip

        await self._database.write(insert)
        return made

    async def delete(self, caller: Caller, ref: str) -> None:
        """Delete an organisation that owns nothing. Views shared with it become private."""
        require_admin(caller)

        def delete(transaction: Transaction) -> None:
            found = _find(transaction, ref)
            for table in ("objects", "registers", "schemas"):
                if transaction.value(f"SELECT 1 FROM {table} WHERE organisation = ? LIMIT 1", found.id):  # noqa: S608  own names
                    raise Conflict(f"Organisation {found.slug!r} still has {table}.", hint=_HINTS[table])
            transaction.run("UPDATE views SET organisation = NULL WHERE organisation = ?", found.id)
            transaction.run("DELETE FROM organisations WHERE id = ?", found.id)
            transaction.signal(_CHANNEL)

        await self._database.write(delete)
        await self.load()

    async def add_member(self, caller: Caller, ref: str, principal: str) -> None:
        """Move a principal into an organisation. Objects it created stay where they are."""
        require_admin(caller)
        if not principal or len(principal) > 300:
            raise InvalidInput("Name the principal to add.", hint="E.g. user:ada or key:01J....")

        def write(transaction: Transaction) -> None:
            found = _find(transaction, ref)
            transaction.run(
                "INSERT INTO organisation_members (principal, organisation) VALUES (?, ?)"
                " ON CONFLICT (principal) DO UPDATE SET organisation = excluded.organisation",
                principal,
                found.id,
            )
            transaction.signal(_CHANNEL)

        await self._database.write(write)
        await self.load()

    async def remove_member(self, caller: Caller, ref: str, principal: str) -> None:
        """Move a principal back to the default organisation."""
        require_admin(caller)

        def write(transaction: Transaction) -> None:
            found = _find(transaction, ref)
            sql = "DELETE FROM organisation_members WHERE principal = ? AND organisation = ?"
            if not transaction.run(sql, principal, found.id):
                raise NotFound(f"{principal[:80]!r} is not a member of {found.slug!r}.")
            transaction.signal(_CHANNEL)

        await self._database.write(write)
        await self.load()


def _find(rows: Rows, ref: str) -> Organisation:
    row = rows.one(f"SELECT {_COLUMNS} FROM organisations WHERE id = ? OR slug = ?", ref, ref)  # noqa: S608  own columns
    if row is None:
        raise NotFound(f"Organisation {ref[:80]!r} not found.")
    return Organisation(*row)


def require_admin(caller: Caller) -> None:
    """Refuse callers who are not administrators of the room."""
    if not caller.principal.may("registers", "admin"):
        raise Forbidden(
            f"{caller.principal.name!r} may not manage organisations.",
            hint="It needs the scope registers:admin.",
            details={"required_scope": "registers:admin"},
        )
