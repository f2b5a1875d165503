"""Saved queries: a query with a title and a resource, `openregister://queries/{id}`, run anew on every read.

A query belongs to the caller who saved it; only administrators of the room can see it too. Readers read it with their
own rights.

`LiveQueries` notifies the followers of a query when its result changes. As long as there are saved queries, every
process with an open room watches for changes, a moment later and off the writer, so that a burst of changes costs one
comparison. Only the process that replaces the result's digest in the store notifies, so followers get one notification
however many processes saw the change. A result is compared as the owner may see it now, with at most the rights it had
when saving the query.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.access.owners import OwnerNow
from pentad.kernel.background import Background
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.changes import CHANNEL, list_changed, resource_updated
from pentad.rooms.registers.models import Audience, Caller, Pair, Schema, StoredObject
from pentad.rooms.registers.objects.vectors import schema_id
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.parser import parse_query
from pentad.search.documents import EMBEDDED

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.catalogue import Catalogue
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.objects.service import Objects

MOST_QUERIES: Final = 100
SAVED: Final = "registers.saved_queries"
"""The channel on which a new query is announced, with the ids of its register and schema."""
_LONGEST_TITLE: Final = 200
_MOST_BYTES: Final = 64 * 1024
_SELECT: Final = "SELECT id, principal, title, register, schema, query, digest, created_at FROM saved_queries"
_INSERT: Final = (
    "INSERT INTO saved_queries (id, principal, title, register, schema, query, digest, created_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_COALESCE_SECONDS: Final = 0.1
_SWEEP_SECONDS: Final = 300.0
"""On PostgreSQL all queries are compared this often: a broken connection can lose a signal."""
_RETRY_SECONDS: Final = 5.0
_PAIR: Final = re.compile(r"resource openregister://objects/(\d{1,18})/(\d{1,18})(?:\n|\Z)")
_MOST_ATTEMPTS: Final = 5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """`query` is the JSON of the objects tool; `scopes` are the rights the owner had when saving it."""

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
        """The owner with the rights it had when saving the query."""
        return Principal(self.principal, self.principal, self.scopes, user=self.user)

    def wire(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "register": self.register, "schema": self.schema, "query": self.query,
            "uri": self.uri, "owner": self.principal, "created": iso(self.created_at),
        }  # fmt: skip


class SavedQueries:
    """Saves, lists, deletes and runs queries."""

    def __init__(
        self, database: Database, clock: Clock, catalogue: "Catalogue", objects: "Objects", access: "AccessRules"
    ) -> None:
        self._database = database
        self._clock = clock
        self._catalogue = catalogue
        self._objects = objects
        self._access = access
        catalogue.name_broken(self._broken)

    def _broken(
        self, rows: Rows, caller: Caller, schema: Schema, old: "CompiledSchema", new: "CompiledSchema"
    ) -> Iterator[dict[str, Any]]:
        """The caller's queries (all queries, for an administrator) that a changed schema would refuse."""
        for saved in (_saved(row) for row in rows.all(f"{_SELECT} WHERE schema = ? ORDER BY id", schema.id)):
            if not self._access.is_free(caller) and saved.principal != caller.principal.id:
                continue
            try:
                parse_query(old, saved.query)
            except PentadError:
                continue  # it does not work now either
            try:
                parse_query(new, saved.query)
            except PentadError as error:
                yield {"kind": "saved query", "id": saved.id, "title": saved.title, "because": error.message}

    async def create(self, caller: Caller, pair: Pair, title: str, query: Mapping[str, Any]) -> SavedQuery:
        """Save a query on a pair. It runs once now, so that a mistake in it is reported at once."""
        name = title.strip()
        if not 0 < len(name) <= _LONGEST_TITLE:
            raise InvalidInput(f"A saved query has a title of 1 to {_LONGEST_TITLE} characters.")
        if "cursor" in query:
            raise InvalidInput("A saved query has no cursor: it always starts at the first row.")
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
            list_changed(transaction, "resources", "registers", Audience.only_owner(made.principal).text())
            transaction.signal(SAVED, f"{made.register} {made.schema}")

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
        """Delete a query; its followers get a last notification."""
        known = await self.get(caller, query_id)

        def work(transaction: Transaction) -> None:
            transaction.run("DELETE FROM saved_queries WHERE id = ?", known.id)
            audience = Audience.only_owner(known.principal).text()
            list_changed(transaction, "resources", "registers", audience)
            resource_updated(transaction, known.uri, audience)

        await self._database.write(work)

    async def result(self, caller: Caller, query_id: str) -> dict[str, Any]:
        """What the query finds now for the caller, with its id and title."""
        known = await self.get(caller, query_id)
        answer = await self.answer(caller, known)
        return {"id": known.id, "title": known.title, "uri": known.uri, **answer}

    async def answer(self, caller: Caller, saved: SavedQuery) -> dict[str, Any]:
        """What the query finds now for the caller."""
        pair = await self._catalogue.pair(caller, saved.register, saved.schema)
        query = await self._objects.query_of(caller, pair, saved.query)
        found = await self._objects.find(caller, pair, query)
        results = [present(self._access, caller, pair, StoredObject(*row), fields=query.fields) for row in found.rows]
        answer: dict[str, Any] = {"results": results}
        if found.total is not None:
            answer["total"] = found.total
        return {**answer, "facets": found.facets} if found.facets else answer

    async def of_pair(self, register: int, schema: int) -> list[SavedQuery]:
        """The saved queries on a pair."""
        sql = f"{_SELECT} WHERE schema = ? AND register = ? ORDER BY id"
        return await self._database.read(lambda rows: [_saved(row) for row in rows.all(sql, schema, register)])

    async def pairs(self) -> set[tuple[int, int]]:
        """The registers and schemas that have saved queries."""
        sql = "SELECT DISTINCT register, schema FROM saved_queries"
        return await self._database.read(lambda rows: {(int(row[0]), int(row[1])) for row in rows.all(sql)})

    async def list(self, caller: Caller) -> list[SavedQuery]:
        """The caller's own queries, oldest first; all queries for an administrator."""
        everything = caller.principal.may("registers", "admin")
        where, params = ("", ()) if everything else (" WHERE principal = ?", (caller.principal.id,))
        sql = f"{_SELECT}{where} ORDER BY created_at, id"
        return await self._database.read(lambda rows: [_saved(row) for row in rows.all(sql, *params)])


class LiveQueries:
    """Watches the results of saved queries in one process. `start` and `stop` it with the room."""

    def __init__(self, database: Database, saved: SavedQueries, owner_now: OwnerNow) -> None:
        self._database = database
        self._owner_now = owner_now
        self._saved = saved
        self._changed: set[tuple[int, int]] = set()
        self._embedded: set[int] = set()
        self._wake = asyncio.Event()
        self._background = Background()
        self._stop_saved: Callable[[], None] | None = None
        self._stop_changes: list[Callable[[], None]] = []

    def start(self) -> None:
        self._stop_saved = self._database.listen(SAVED, self._on_saved)
        self._wake.set()  # there may be saved queries already
        self._background.start(self._watch(), "registers-live-queries")

    async def stop(self) -> None:
        if self._stop_saved is not None:
            self._stop_saved()
        self._stop_listening()
        await self._background.stop()

    def _listen(self) -> None:
        if not self._stop_changes:
            self._stop_changes = [
                self._database.listen(CHANNEL, self._on_change),
                self._database.listen(EMBEDDED, self._on_vectors),
            ]

    def _stop_listening(self) -> None:
        for stop in self._stop_changes:
            stop()
        self._stop_changes = []

    def _on_saved(self, pair: str) -> None:
        """Compare a new query, in case its result changed before this process listened."""
        register, _, schema = pair.partition(" ")
        self._changed.add((int(register), int(schema)))
        self._wake.set()

    def _on_change(self, payload: str) -> None:
        if (pair := _PAIR.match(payload)) is not None:
            self._changed.add((int(pair[1]), int(pair[2])))
            self._wake.set()

    def _on_vectors(self, collection: str) -> None:
        if (schema := schema_id(collection)) is not None:
            self._embedded.add(schema)
            self._wake.set()

    async def _watch(self) -> None:
        sweep = _SWEEP_SECONDS if self._database.dialect == "postgres" else None
        while True:
            try:
                async with asyncio.timeout(sweep):
                    await self._wake.wait()
                await asyncio.sleep(_COALESCE_SECONDS)
                self._wake.clear()
                pairs, self._changed = self._changed, set()
                schemas, self._embedded = self._embedded, set()
            except TimeoutError:
                pairs, schemas = None, set[int]()
            await self._compare_all(pairs, schemas)

    async def _compare_all(self, pairs: set[tuple[int, int]] | None, schemas: set[int]) -> None:
        """Compare the queries on these pairs and schemas; all queries if `pairs` is None."""
        try:
            self._listen()  # before reading: a change after the read wakes the watch again
            with_queries = await self._saved.pairs()
            if not with_queries:
                self._stop_listening()
            for register, schema in with_queries:
                if pairs is None or (register, schema) in pairs or schema in schemas:
                    for saved in await self._saved.of_pair(register, schema):
                        await self._compare(saved)
        except PentadError as error:
            log_failure(error, "Comparing saved queries")
            self._changed |= pairs or set()
            self._embedded |= schemas
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wake.set)
        except Exception:  # noqa: BLE001  nobody would notice that the watch ended
            _log.exception("Comparing saved queries failed.")

    async def _compare(self, saved: SavedQuery) -> None:
        """Notify the followers if the result changed. If another process stored a digest first, compare again."""
        known = saved.digest
        for _ in range(_MOST_ATTEMPTS):
            digest = await self._digest(saved)
            if digest == known:
                return
            done, known = await self._database.write(lambda tx, old=known, new=digest: _replace(tx, saved, old, new))
            if done:
                return

    async def _digest(self, saved: SavedQuery) -> bytes:
        """The digest of the current result; a query that fails has a digest of its error."""
        owner = await self._database.read(lambda rows: self._owner_now(rows, saved.saved_owner))
        if owner is None:
            return digest_of({"error": "owner is gone"})
        try:
            return digest_of(await self._saved.answer(Caller(owner), saved))
        except PentadError as error:
            return digest_of({"error": error.code})


def digest_of(answer: Mapping[str, Any]) -> bytes:
    """Two results differ if their digests do."""
    return hashlib.sha256(msgspec.json.encode(answer)).digest()


def _may_see(caller: Caller, row: Row) -> bool:
    return row[1] == caller.principal.id or caller.principal.may("registers", "admin")


def _saved(row: Row) -> SavedQuery:
    query_id, principal, title, register, schema, text, digest, created = row
    stored: dict[str, Any] = msgspec.json.decode(text)
    return SavedQuery(
        query_id, principal, title, register, schema, stored["query"], frozenset(stored["scopes"]), stored.get("user"),
        bytes(digest), created,
    )  # fmt: skip


def _replace(transaction: Transaction, saved: SavedQuery, old: bytes, new: bytes) -> tuple[bool, bytes]:
    """Replace the digest and notify. Returns whether nothing is left to do, and the digest in the store."""
    stored = transaction.value("SELECT digest FROM saved_queries WHERE id = ?", saved.id)
    if stored is None:
        return True, new
    if bytes(stored) != old:
        return False, bytes(stored)
    transaction.run("UPDATE saved_queries SET digest = ? WHERE id = ?", new, saved.id)
    resource_updated(transaction, saved.uri)
    return True, new
