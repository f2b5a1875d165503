"""Saved queries: a question with a name and an address, `openregister://queries/{id}`, asked anew whenever it is read.

A query belongs to who saved it; nobody else can tell that it exists, but for admins of the room. It is read with the
reader's own rights. `live.py` watches whether its answer changes.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Database, Row, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.changes import list_changed, resource_updated
from pentad.rooms.registers.audiences import owners_alone
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.showing import shown
from pentad.rooms.registers.visible import query_of

if TYPE_CHECKING:
    from pentad.rooms.registers.access import AccessRules
    from pentad.rooms.registers.catalogue import Catalogue
    from pentad.rooms.registers.objects.service import Objects

MOST_QUERIES: Final = 100
_MOST_TITLE: Final = 200
_MOST_BYTES: Final = 64 * 1024
_SELECT: Final = "SELECT id, principal, title, register, schema, query, digest, created_at FROM saved_queries"
_INSERT: Final = (
    "INSERT INTO saved_queries (id, principal, title, register, schema, query, digest, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """`query` is what was asked for, in the JSON of the objects tool; `scopes` are the rights its owner had then."""

    id: str
    principal: str
    title: str
    register: int
    schema: int
    query: dict[str, Any]
    scopes: frozenset[str]
    user: str | None
    digest: bytes
    created_at: float

    @property
    def uri(self) -> str:
        return f"openregister://queries/{self.id}"

    @property
    def saved_owner(self) -> Principal:
        """Who saved it, with the rights of then."""
        return Principal(self.principal, self.principal, self.scopes, user=self.user)

    def wire(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "register": self.register, "schema": self.schema, "query": self.query,
            "uri": self.uri, "owner": self.principal, "created": iso(self.created_at),
        }  # fmt: skip


class SavedQueries:
    """Saving, listing, forgetting and asking."""

    def __init__(
        self, database: Database, clock: Clock, catalogue: "Catalogue", objects: "Objects", access: "AccessRules"
    ) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._objects = objects
        self._access = access

    async def create(self, caller: Caller, pair: Pair, title: str, query: Mapping[str, Any]) -> SavedQuery:
        """Save a query of a pair; it is asked once now, so a mistake in it is told at once."""
        name = title.strip()
        if not 0 < len(name) <= _MOST_TITLE:
            raise InvalidInput(f"A saved query has a title of 1 to {_MOST_TITLE} characters.")
        if "cursor" in query:
            raise InvalidInput("A saved query has no cursor: it is always asked from its beginning.")
        scopes, user = caller.principal.scopes, caller.principal.user
        text = msgspec.json.encode({"query": dict(query), "scopes": sorted(scopes), "user": user}).decode()
        if len(text) > _MOST_BYTES:
            raise LimitExceeded(f"A saved query has at most {_MOST_BYTES:,} bytes.")
        made = SavedQuery(
            opaque_id(size=12), caller.principal.id, name, pair.register.id, pair.schema.id, dict(query), scopes, user,
            b"", self._clock.now(),
        )  # fmt: skip
        digest = digest_of(await self.answer(caller, made))

        def work(transaction: Transaction) -> None:
            count = transaction.value("SELECT count(*) FROM saved_queries WHERE principal = ?", made.principal)
            if int(count) >= MOST_QUERIES:
                raise LimitExceeded(f"You have {MOST_QUERIES} saved queries already.", hint="Delete one first.")
            transaction.run(
                _INSERT, made.id, made.principal, name, made.register, made.schema, text, digest, made.created_at
            )
            list_changed(transaction, "resources", "registers", owners_alone(made.principal).text())

        await self._database.write(work)
        return made

    async def get(self, caller: Caller, query_id: str) -> SavedQuery:
        row = await self._database.lookup(f"{_SELECT} WHERE id = ?", query_id)
        if row is None or not _may_see(caller, row):
            raise NotFound(
                f"There is no saved query {query_id[:60]!r}.", hint="List the saved queries to see their ids."
            )
        return _saved(row)

    async def delete(self, caller: Caller, query_id: str) -> None:
        """Forget a query; whoever follows it hears of it once more."""
        known = await self.get(caller, query_id)

        def work(transaction: Transaction) -> None:
            transaction.run("DELETE FROM saved_queries WHERE id = ?", known.id)
            audience = owners_alone(known.principal).text()
            list_changed(transaction, "resources", "registers", audience)
            resource_updated(transaction, known.uri, audience)

        await self._database.write(work)

    async def result(self, caller: Caller, query_id: str) -> dict[str, Any]:
        """What the query finds now, as the caller may see it."""
        known = await self.get(caller, query_id)
        answer = await self.answer(caller, known)
        return {"id": known.id, "title": known.title, "uri": known.uri, **answer}

    async def answer(self, caller: Caller, saved: SavedQuery) -> dict[str, Any]:
        """The answer itself."""
        pair = await self._catalogue.pair(caller, saved.register, saved.schema)
        query = query_of(self._access, caller, pair, saved.query)
        found = await self._objects.find(caller, pair, query)
        results = [shown(self._access, caller, pair, StoredObject(*row), fields=query.fields) for row in found.rows]
        answer: dict[str, Any] = {"results": results}
        if found.total is not None:
            answer["total"] = found.total
        return {**answer, "facets": found.facets} if found.facets else answer

    async def of_pair(self, register: int, schema: int) -> list[SavedQuery]:
        """Every query that a change of a pair may concern."""
        sql = f"{_SELECT} WHERE schema = ? AND register = ? ORDER BY id"
        return await self._database.read(lambda rows: [_saved(row) for row in rows.all(sql, schema, register)])

    async def pairs(self) -> set[tuple[int, int]]:
        """Where there are saved queries: registers and schemas."""
        sql = "SELECT DISTINCT register, schema FROM saved_queries"
        return await self._database.read(lambda rows: {(int(row[0]), int(row[1])) for row in rows.all(sql)})

    async def list(self, caller: Caller) -> list[SavedQuery]:
        """The caller's own queries, oldest first; all of them for an admin."""
        everything = caller.principal.may("registers", "admin")
        where, params = ("", ()) if everything else (" WHERE principal = ?", (caller.principal.id,))
        sql = f"{_SELECT}{where} ORDER BY created_at, id"
        return await self._database.read(lambda rows: [_saved(row) for row in rows.all(sql, *params)])


def digest_of(answer: Mapping[str, Any]) -> bytes:
    """What tells one answer from another."""
    return hashlib.sha256(msgspec.json.encode(answer)).digest()


def _may_see(caller: Caller, row: Row) -> bool:
    return row[1] == caller.principal.id or caller.principal.may("registers", "admin")


def _saved(row: Row) -> SavedQuery:
    query_id, principal, title, register, schema, text, digest, created = row
    asked: dict[str, Any] = msgspec.json.decode(text)
    return SavedQuery(
        query_id, principal, title, register, schema, asked["query"], frozenset(asked["scopes"]), asked.get("user"),
        bytes(digest), created,
    )  # fmt: skip
