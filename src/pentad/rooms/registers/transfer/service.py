"""The room's imports and exports. Formats and their libraries are loaded on demand."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from pentad.kernel.ports import Database
from pentad.rooms.registers.models import Caller, Pair

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.objects.service import Objects
    from pentad.rooms.registers.transfer.formats import Format
    from pentad.rooms.registers.transfer.imports import Checkpoint, ImportOptions, ImportReport, Progress


class Transfer:
    """Imports and exports objects."""

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
        checkpoint: "Checkpoint | None" = None,
    ) -> "ImportReport":
        """Import a seekable stream. Bad rows raise no error; the report lists them."""
        from pentad.rooms.registers.transfer.imports import NO_CHECKPOINT, Importer, ImportOptions

        importer = Importer(self._database, self._objects, self._access)
        return await importer.run(
            caller,
            pair,
            source,
            kind,
            options or ImportOptions(),
            progress or _ignore_progress,
            checkpoint or NO_CHECKPOINT,
        )

    def export(
        self,
        caller: Caller,
        pair: Pair,
        kind: "Format",
        selection: Mapping[str, Any] | None = None,
        counted: Callable[[int], None] | None = None,
    ) -> AsyncIterator[bytes]:
        """The bytes of a file with everything a query finds. `counted` receives the number of objects in each part."""
        from pentad.rooms.registers.transfer.exports import Exporter

        return Exporter(self._objects, self._access).stream(caller, pair, kind, selection or {}, counted)

    async def check_selection(self, caller: Caller, pair: Pair, selection: Mapping[str, Any]) -> None:
        """Raise InvalidInput for a selection that cannot be exported."""
        from pentad.rooms.registers.transfer.exports import Exporter

        await Exporter(self._objects, self._access).check(caller, pair, selection)


def _ignore_progress(phase: str, done: int, total: int | None) -> None:
    """The progress callback of callers without one."""
