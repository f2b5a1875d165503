"""The catalogue of the room: its registers, its schemas, and the register-schema pairs that hold objects."""

from pentad.kernel.clock import Clock
from pentad.kernel.ports import Database
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.changes import CHANNEL, CatalogueChanges
from pentad.rooms.registers.catalogue.pairs import Pairs
from pentad.rooms.registers.catalogue.registers import RegisterEntries
from pentad.rooms.registers.catalogue.schemas import SchemaEntries
from pentad.rooms.registers.objects.vectors import ObjectVectors
from pentad.rooms.registers.schema_locks import SchemaLocks
from pentad.search.index import SearchIndex

Entities = RegisterEntries | SchemaEntries


class Catalogue(Pairs):
    """Everything about registers and schemas."""

    def __init__(self, database: Database, clock: Clock, access: AccessRules, index: SearchIndex) -> None:
        super().__init__(database, clock, access)
        self.vectors = ObjectVectors(index, self.definitions)
        self.locks = SchemaLocks(database)
        self.changes = CatalogueChanges(database, clock, access, self)
        self.registers = RegisterEntries(database, clock, access, self, self.changes)
        self.schemas = SchemaEntries(database, clock, access, self, self.changes, self.vectors)
        self._stop = database.listen(CHANNEL, lambda _payload: self.forget())

    async def open(self) -> None:
        await self.schemas.open()

    def close(self) -> None:
        self._stop()
