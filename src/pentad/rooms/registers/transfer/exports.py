"""Export: everything a query finds, page by page, as one stream of bytes.

The caller's rights decide what is in it, as with any other read. Tables have a column for every declared property (or
those asked for), and the identity of each object in front; JSON has objects as Pentad shows them everywhere.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.query.models import LARGEST_LIMIT
from pentad.rooms.registers.showing import shown
from pentad.rooms.registers.transfer.columns import IDENTITY, VERSION, Column, columns_of
from pentad.rooms.registers.transfer.rows import Format
from pentad.rooms.registers.visible import query_of

if TYPE_CHECKING:
    from pentad.rooms.registers.access import AccessRules
    from pentad.rooms.registers.objects.service import Objects

_ASKED: Final = ("filter", "search", "sort", "fields", "as_of")


class Writer(Protocol):
    """A file format on its way out."""

    def add(self, cells: Any) -> None: ...

    def taken(self) -> bytes:
        """What was written since it was last asked."""
        ...

    def end(self) -> bytes: ...


class Exporter:
    """Takes objects of a pair out."""

    def __init__(self, objects: "Objects", access: "AccessRules") -> None:
        self._objects = objects
        self._access = access

    async def stream(self, caller: Caller, pair: Pair, kind: Format, asked: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """The bytes of the file; `asked` may hold filter, search, sort, fields and as_of of a query."""
        if unknown := set(asked) - set(_ASKED):
            raise InvalidInput(f"An export takes no {min(unknown)!r}.", hint=f"It takes {', '.join(_ASKED)}.")
        query = {**asked, "limit": LARGEST_LIMIT, "count": False}
        fields = query_of(self._access, caller, pair, query).fields
        sheet = _Sheet(kind, pair, fields, self._access.hidden(caller, pair))
        while True:
            found = await self._objects.find(caller, pair, query_of(self._access, caller, pair, query))
            rows = [StoredObject(*row) for row in found.rows]
            yield await asyncio.to_thread(self._written, caller, pair, sheet, rows)
            if found.cursor is None:
                break
            query["cursor"] = found.cursor
        yield sheet.writer.end()

    def _written(self, caller: Caller, pair: Pair, sheet: "_Sheet", rows: Sequence[StoredObject]) -> bytes:
        for stored in rows:
            sheet.add(shown(self._access, caller, pair, stored, fields=sheet.fields), stored)
        return sheet.writer.taken()


class _Sheet:
    """The writer of a format, and what it is given of each object."""

    def __init__(
        self, kind: Format, pair: Pair, fields: Sequence[str] | None, hidden: Collection[str] = frozenset()
    ) -> None:
        self._columns: list[Column] | None = None
        self.fields = fields
        if kind in ("csv", "xlsx"):
            known = [column for column in columns_of(pair.definition.body) if column.path[0] not in hidden]
            self._columns = [column for column in known if _wanted(column, fields)]
            headers = [IDENTITY, VERSION, *(column.header for column in self._columns)]
        else:
            headers = []
        self.writer: Writer = _writer(kind, headers, pair.schema.slug)

    def add(self, wire: dict[str, Any], stored: StoredObject) -> None:
        if self._columns is None:
            self.writer.add(wire)
        else:
            self.writer.add([stored.uuid, stored.version, *(column.cell_of(wire) for column in self._columns)])


def _wanted(column: Column, fields: Sequence[str] | None) -> bool:
    """A column is asked for by its own name, by that of an object it lies in, or by a member of it."""
    if fields is None:
        return True
    return any(
        name == column.header or column.header.startswith(f"{name}.") or name.startswith(f"{column.header}.")
        for name in fields
    )


def _writer(kind: Format, headers: Sequence[str], title: str) -> Writer:
    if kind == "csv":
        from pentad.rooms.registers.transfer.csv_rows import CsvWriter

        return CsvWriter(headers)
    if kind == "xlsx":
        from pentad.rooms.registers.transfer.excel_writer import ExcelWriter

        return ExcelWriter(headers, title)
    from pentad.rooms.registers.transfer.json_rows import JsonWriter

    return JsonWriter(lines=kind == "jsonl")
