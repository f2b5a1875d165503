"""Exports everything a query finds for the caller, page by page, as one stream of bytes.

Tables have the id and version of each object, then a column for every declared or requested property. JSON has the
objects as in every other interface, with fields of related objects (`applicant.city`) last.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import LARGEST_LIMIT, Query
from pentad.rooms.registers.transfer.cells import write_cell
from pentad.rooms.registers.transfer.formats import Format
from pentad.rooms.registers.transfer.tables import Column, columns_of, identity_headers

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.objects.service import Objects

_ANY_TEXT: Final = {"type": "string"}
_QUERY_PARTS: Final = ("filter", "search", "sort", "fields", "as_of")


class Writer(Protocol):
    """Writes one file format."""

    def add(self, cells: Any) -> None: ...

    def drain(self) -> bytes:
        """The bytes written since the last call."""
        ...

    def end(self) -> bytes: ...


class Exporter:
    """Exports the objects of a pair."""

    def __init__(self, objects: "Objects", access: "AccessRules") -> None:
        self._objects = objects
        self._access = access

    async def check(self, caller: Caller, pair: Pair, selection: Mapping[str, Any]) -> Query:
        """Parse the query of a selection, which may have filter, search, sort, fields and as_of."""
        if unknown := set(selection) - set(_QUERY_PARTS):
            raise InvalidInput(f"An export takes no {min(unknown)!r}.", hint=f"It takes {', '.join(_QUERY_PARTS)}.")
        return await self._objects.query_of(caller, pair, selection, related=True)

    async def stream(
        self,
        caller: Caller,
        pair: Pair,
        kind: Format,
        selection: Mapping[str, Any],
        counted: Callable[[int], None] | None = None,
    ) -> AsyncIterator[bytes]:
        """The bytes of the file."""
        asked = await self.check(caller, pair, selection)
        raw = {**selection, "limit": LARGEST_LIMIT, "count": False}
        sheet = _Sheet(kind, pair, _names_in_order(asked, selection), self._access.hidden(caller, pair))
        while True:
            query = await self._objects.query_of(caller, pair, raw, related=True)
            found = await self._objects.find(caller, pair, query)
            rows = [StoredObject(*row) for row in found.rows]
            wires = await asyncio.to_thread(self._presented, caller, pair, rows, query.fields)
            if query.related:
                await self._objects.add_related(caller, query, rows, wires)
            yield await asyncio.to_thread(sheet.written, wires, rows)
            if counted is not None:
                counted(len(rows))
            if found.cursor is None:
                break
            raw["cursor"] = found.cursor
        yield sheet.writer.end()

    def _presented(
        self, caller: Caller, pair: Pair, rows: Sequence[StoredObject], fields: tuple[str, ...] | None
    ) -> list[dict[str, Any]]:
        return [present(self._access, caller, pair, stored, fields=fields) for stored in rows]


def _names_in_order(asked: Query, selection: Mapping[str, Any]) -> dict[str, bool] | None:
    """The fields in the requested order, and whether each belongs to a related object; None for all."""
    if asked.fields is None:
        return None
    related = dict(asked.related)
    given: str | list[str] = selection["fields"]
    names = given if isinstance(given, list) else [name.strip() for name in given.split(",")]
    return {name: name in related for name in names if name}


async def write_rows(
    kind: Format, columns: Sequence[str], title: str, pages: AsyncIterator[Sequence[Mapping[str, Any]]]
) -> AsyncIterator[bytes]:
    """The bytes of a file with these columns, in this order."""
    writer = _writer(kind, columns, title)

    def written(rows: Sequence[Mapping[str, Any]]) -> bytes:
        for row in rows:
            if kind in ("csv", "xlsx"):
                writer.add([write_cell(row.get(name), _ANY_TEXT) for name in columns])
            else:
                writer.add({name: row.get(name) for name in columns})
        return writer.drain()

    async for rows in pages:
        yield await asyncio.to_thread(written, rows)
    yield writer.end()


class _Sheet:
    """A format's writer, and the cells to write for each object."""

    def __init__(
        self, kind: Format, pair: Pair, fields: Mapping[str, bool] | None, hidden: Collection[str] = frozenset()
    ) -> None:
        self._columns: list[Column] | None = None
        if kind in ("csv", "xlsx"):
            known = [column for column in columns_of(pair.definition.body) if column.path[0] not in hidden]
            self._columns = known if fields is None else _selected(known, fields)
            headers = [*identity_headers(pair.definition.body), *(column.header for column in self._columns)]
        else:
            headers = []
        self.writer: Writer = _writer(kind, headers, pair.schema.slug)

    def written(self, wires: Sequence[dict[str, Any]], rows: Sequence[StoredObject]) -> bytes:
        for wire, stored in zip(wires, rows, strict=True):
            if self._columns is None:
                self.writer.add(wire)
            else:
                self.writer.add([stored.uuid, stored.version, *(column.cell_of(wire) for column in self._columns)])
        return self.writer.drain()


def _selected(columns: Sequence[Column], fields: Mapping[str, bool]) -> list[Column]:
    """The columns for some fields, in their order: a field selects its column, those below it, and one around it.

    A field of a related object gets its own column.
    """
    chosen: dict[str, Column] = {}
    for name, is_related in fields.items():
        if is_related:
            chosen[name] = Column(name, (name,), _ANY_TEXT)
        else:
            chosen |= {column.header: column for column in columns if _means(name, column.header)}
    return list(chosen.values())


def _means(name: str, header: str) -> bool:
    return name == header or header.startswith(f"{name}.") or name.startswith(f"{header}.")


def _writer(kind: Format, headers: Sequence[str], title: str) -> Writer:
    if kind == "csv":
        from pentad.rooms.registers.transfer.csv_format import CsvWriter

        return CsvWriter(headers)
    if kind == "xlsx":
        from pentad.rooms.registers.transfer.excel_format import ExcelWriter

        return ExcelWriter(headers, title)
    from pentad.rooms.registers.transfer.json_format import JsonWriter

    return JsonWriter(lines=kind == "jsonl")
