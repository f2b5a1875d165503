"""Finds pairs, a register with one of its schemas, by the names callers use. Results are cached.

The cache lasts until a process signals a change, and never long, because a signal can be lost while a connection is
down. A write looks the schema up again inside its own transaction, so a stale cache can cost a retry but never lets a
wrong object in.
"""

from collections.abc import Callable
from typing import Final

from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database, Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, target
from pentad.rooms.registers.catalogue.entries import CatalogueView, entity_not_found
from pentad.rooms.registers.models import Caller, Pair, Register, Schema
from pentad.rooms.registers.store import Ref

_FRESH_SECONDS: Final = 10.0
_MOST_CACHED: Final = 10_000


class Pairs:
    """Finds pairs, registers and schemas for a caller."""

    def __init__(self, database: Database, clock: Clock, access: AccessRules) -> None:
        self.definitions = Definitions()
        self._database = database
        self._clock = clock
        self._access = access
        self._pairs: dict[tuple[str, Ref, Ref], Pair] = {}
        self._epoch = 0
        self._read_at = 0.0

    def forget(self) -> None:
        """Drop the cache because something changed."""
        self._pairs.clear()
        self._epoch += 1

    async def pair(self, caller: Caller, register: Ref, schema: Ref, action: Right = "read") -> Pair:
        """A register with a schema; NotFound, with suggestions, if the caller may not see one of them."""
        place = (self._access.organisation(caller), register, schema)
        found = self._cached(place)
        if found is None or not self._is_current(caller, found):
            epoch, read_at = self._epoch, self._clock.monotonic()
            found = await self._database.read(lambda rows: self.pair_in(rows, caller, register, schema))
            if epoch == self._epoch and _means_the_same(place, found):
                self._cache(place, found, read_at)
        self._access.check(caller, found, action)
        return found

    def _is_current(self, caller: Caller, pair: Pair) -> bool:
        """Whether a cached pair is usable: register and schema still belong together, and the caller may see both."""
        return pair.schema.id in pair.register.schemas and self._access.sees_both(caller, pair.register, pair.schema)

    async def visible_pairs(self, caller: Caller) -> list[Pair]:
        """Every register with each of its schemas the caller may read."""

        def look(rows: Rows) -> list[Pair]:
            view = self.view(rows, caller)
            return [
                Pair(register, schema, self.definitions.of(rows, schema))
                for register in view.registers()
                for key in register.schemas
                if (schema := view.schema_in(register, key)) is not None
            ]

        return await self._database.read(look)

    async def referred(self, caller: Caller, pair: Pair, ref: Ref) -> Pair | None:
        """The schema a relation of a pair leads to, as a pair; None if the caller may not see it."""

        def look(rows: Rows) -> Pair | None:
            found = target(rows, ref, pair.schema.organisation)
            if found is None or not self._access.sees(caller, found):
                return None
            return Pair(pair.register, found, self.definitions.of(rows, found))

        return await self._database.read(look)

    # inside a unit of work

    def view(self, rows: Rows, caller: Caller) -> CatalogueView:
        return CatalogueView(self._access, rows, caller)

    def register_in(self, rows: Rows, caller: Caller, ref: Ref) -> Register:
        return self.view(rows, caller).register(ref)

    def schema_in(self, rows: Rows, caller: Caller, ref: Ref) -> Schema:
        return self.view(rows, caller).schema(ref)

    def pair_in(self, rows: Rows, caller: Caller, register: Ref, schema: Ref) -> Pair:
        view = self.view(rows, caller)
        container, kind = view.register(register), view.schema(schema)
        if not self._access.sees_both(caller, container, kind):
            raise entity_not_found("register", register, view.registers())
        return Pair(container, kind, self.definitions.of(rows, kind))

    def pairs_of_schema(self, rows: Rows, caller: Caller, schema: Schema) -> list[Pair]:
        """The visible registers that contain a schema, each as a pair with it."""
        definition = self.definitions.of(rows, schema)
        return [
            Pair(register, schema, definition)
            for register in self.view(rows, caller).registers()
            if schema.id in register.schemas and self._access.sees_both(caller, register, schema)
        ]

    def pairs_in(self, rows: Rows, before: Schema | None = None) -> Callable[[int, int], Pair]:
        """A function that finds the pairs of stored objects in one unit of work, reading each once. Checks no access.

        For a schema that this unit of work changes, pass what it was `before`.
        """
        known: dict[tuple[int, int], Pair] = {}

        def pair_of(register: int, schema: int) -> Pair:
            if (register, schema) not in known:
                container = store.find_register(rows, register)
                kind = before if before and before.id == schema else store.find_schema(rows, schema)
                assert container is not None  # noqa: S101  the store keeps objects from losing them
                assert kind is not None  # noqa: S101  likewise
                known[register, schema] = Pair(container, kind, self.definitions.of(rows, kind))
            return known[register, schema]

        return pair_of

    def _cached(self, place: tuple[str, Ref, Ref]) -> Pair | None:
        if self._pairs and self._clock.monotonic() - self._read_at > _FRESH_SECONDS:
            self._pairs.clear()
        return self._pairs.get(place)

    def _cache(self, place: tuple[str, Ref, Ref], pair: Pair, read_at: float) -> None:
        if len(self._pairs) >= _MOST_CACHED:
            self._pairs.clear()
        if not self._pairs:
            self._read_at = read_at
        self._pairs[place] = pair


def _means_the_same(place: tuple[str, Ref, Ref], pair: Pair) -> bool:
    """Whether these names mean this pair to every member of the organisation, so it can be cached.

    A slug from another organisation may mean something else to a member who can see one of their own.
    """
    organisation, *refs = place
    own = pair.register.organisation == pair.schema.organisation == organisation
    return own or all(store.is_id_or_uuid(ref) for ref in refs)
