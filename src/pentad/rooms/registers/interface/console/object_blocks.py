"""Objects as blocks, for console pages and for views in clients."""

from collections.abc import Mapping, Sequence
from typing import Any

from pentad.kernel.pages import Cell, Column, Facts, Place, Table, Text, ToolCall
from pentad.rooms.registers.interface.console.browse import main_properties
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.interface.console.values import Values


def object_facts(page: PairPage, wire: Mapping[str, Any], values: Values) -> Facts:
    """The properties of an object."""
    uuid = wire.get("@self", {}).get("id")
    data = {name: value for name, value in wire.items() if name != "@self" and not (name == "id" and value == uuid)}
    return Facts([(page.named(name), values.fact(value)) for name, value in data.items()])


async def object_table(page: PairPage, rows: Sequence[Mapping[str, Any]], fields: Sequence[str] | None) -> Table:
    """A table of objects from a tool's answer, each with the call that shows it, or of an aggregation's groups."""
    if fields is None and all("@self" in row for row in rows):
        main = [(one.name, Column(page.named(one.name), one.kind == "number")) for one in main_properties(page)]
    else:
        names = dict.fromkeys(name for row in rows for name in row if name not in ("@self", "id"))
        main = [(name, Column(page.named(name))) for name in names]
    values = await Values.of(page, rows)
    shown = [(*_object_cell(page, row), *(values.text(row.get(name)) for name, _ in main)) for row in rows]
    head = ("Object",) if any("@self" in row or "id" in row for row in rows) else ()
    return Table((*head, *(column for _, column in main)), shown, "Nothing was found.")


def _object_cell(page: PairPage, row: Mapping[str, Any]) -> tuple[Text, ...]:
    about: Mapping[str, Any] = row.get("@self") or {}
    uuid = about.get("id") or row.get("id")
    if not isinstance(uuid, str):
        return ()
    call = ToolCall("objects", {"action": "get", **page.arguments, "id": uuid})
    return (Cell(str(about.get("name") or uuid), Place((*page.place, uuid)), call),)
