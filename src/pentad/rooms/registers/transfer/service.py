"""Objects to and from files, as one object of the room."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from pentad.kernel.ports import Database
from pentad.rooms.registers.models import Caller, Pair

if TYPE_CHECKING:
    from pentad.rooms.registers.access import AccessRules
    from pentad.rooms.registers.objects.service import Objects
    from pentad.rooms.registers.transfer.imports import ImportOptions, Progress
    from pentad.rooms.registers.transfer.report import ImportReport
    from pentad.rooms.registers.transfer.rows import Format


class Transfer:
    """Import and export; what they need is imported when it is asked for."""

    def __init__(self, database: Database, objects: "Objects", access: "AccessRules") -> None:
        self._database = database
        self._objects = objects
        self._access = access

    async def import_file(
        self,
        caller: Caller,
        pair: Pair,
        source: BinaryIO,
        kind: "Format",
        options: "ImportOptions | None" = None,
        progress: "Progress | None" = None,
    ) -> "ImportReport":
        """Import a seekable stream; the report says what became of every row. Bad rows are reported, not raised."""
        from pentad.rooms.registers.transfer.imports import Importer, ImportOptions

        importer = Importer(self._database, self._objects, self._access)
        return await importer.run(caller, pair, source, kind, options or ImportOptions(), progress or _unheard)

    def export(
        self, caller: Caller, pair: Pair, kind: "Format", asked: Mapping[str, Any] | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes of a file with everything a query finds."""
        from pentad.rooms.registers.transfer.exports import Exporter

        return Exporter(self._objects, self._access).stream(caller, pair, kind, asked or {})


def _unheard(phase: str, done: int, total: int | None) -> None:
    """Progress nobody asked for."""
