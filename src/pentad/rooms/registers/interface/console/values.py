"""Object values for people: references show the name of the object they lead to. Nested values are tables or trees
where there is room, otherwise one line.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pentad.kernel.page_values import flat_columns, is_plain, label, scalar_text
from pentad.kernel.pages import Cell, Column, Fact, Name, Place, Table, Text, ToolCall, Tree
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.presentation import present

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MOST_VALUES: Final = 50
_MOST_REFERENCES: Final = 500


@dataclass(frozen=True, slots=True)
class Values:
    """Turns values into text. `links` has the referenced objects by uuid."""

    links: Mapping[str, Cell] = field(default_factory=dict[str, Cell])

    @classmethod
    async def of(cls, page: PairPage, rows: Iterable[Mapping[str, Any]]) -> "Values":
        """Look up, in one query, the names of all objects the rows refer to and the visitor may see."""
        found = dict.fromkeys(
            uuid for row in rows for name, value in row.items() if name != "id" for uuid in _uuids(value)
        )
        if not found:
            return cls()
        related = await page.registers.objects.related(page.caller, list(found)[:_MOST_REFERENCES])
        access = page.registers.access
        links: dict[str, Cell] = {}
        for uuid, (pair, stored) in related.items():
            name = str(present(access, page.caller, pair, stored)["@self"].get("name") or uuid)
            place = {"register": pair.register.id, "schema": pair.schema.id}
            call = ToolCall("objects", {"action": "get", **place, "id": uuid})
            links[uuid.lower()] = Cell(name, Place(("objects", uuid)), call)
        return cls(links)

    def fact(self, value: Any) -> Fact:
        """The value where there is room: a list of links, a table of flat objects, or a tree of anything deeper."""
        if isinstance(value, dict):
            return Tree(value) if value else ""
        if not isinstance(value, list):
            return self.text(value)
        values = cast("list[Any]", value)
        if is_plain(values):
            rest = [f"and {len(values) - _MOST_VALUES:,} more"] if len(values) > _MOST_VALUES else []
            return [*(self.text(one) for one in values[:_MOST_VALUES]), *rest]
        columns = flat_columns(values)
        if not columns:
            return Tree(values)
        heads = [Column(Name(name, label(name) or name), is_number) for name, is_number in columns.items()]
        return Table(heads, [[self.text(row.get(name)) for name in columns] for row in values])

    def text(self, value: Any) -> Text:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, list):
            return self._list(cast("list[Any]", value))
        return self._line(cast("dict[str, Any]", value)) if isinstance(value, dict) else scalar_text(value)

    def plain(self, value: Any) -> str:
        """The text without a link."""
        text = self.text(value)
        return text if isinstance(text, str) else text.text

    def _string(self, text: str) -> Text:
        if _UUID.fullmatch(text):
            return self.links.get(text.lower()) or Cell(text, Place(("objects", text)))
        return text

    def _list(self, values: Sequence[Any]) -> Text:
        if len(values) == 1:
            return self.text(values[0])
        return _joined([self._part(one) for one in values])

    def _line(self, members: Mapping[str, Any]) -> str:
        """An object in one line: its members that have a value."""
        return _joined([f"{name}: {text}" for name, one in members.items() if (text := self._part(one))])

    def _part(self, value: Any) -> str:
        """A value inside a line."""
        text = self.plain(value)
        return f"({text})" if text and isinstance(value, dict | list) else text


def _joined(parts: Sequence[str]) -> str:
    rest = f" and {len(parts) - _MOST_VALUES:,} more" if len(parts) > _MOST_VALUES else ""
    return ", ".join(parts[:_MOST_VALUES]) + rest


def as_json(value: Any) -> str:
    """JSON with line breaks."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except ValueError:
        return "This value has a number too large to show here."


def _uuids(value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [one.lower() for one in values if isinstance(one, str) and _UUID.fullmatch(one)]
