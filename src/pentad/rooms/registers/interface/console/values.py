"""Values of objects for people: references are the names of the objects they lead to, URLs are links, objects JSON."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pentad.kernel.pages import Cell, Place, Text
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.presentation import present

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WIDEST_NUMBER: Final = 1_000
_MOST_VALUES: Final = 50
_MOST_REFERENCES: Final = 500


@dataclass(frozen=True, slots=True)
class Values:
    """Turns values into text. `names` are those of referenced objects, by uuid."""

    names: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    async def of(cls, page: PairPage, rows: Iterable[Mapping[str, Any]]) -> "Values":
        """With the names of all objects that the rows refer to and the visitor may see: one query for all."""
        references = [one.name for one in page.properties() if one.ref is not None]
        found = dict.fromkeys(uuid for row in rows for name in references for uuid in _uuids(row.get(name)))
        if not found:
            return cls()
        related = await page.registers.objects.related(page.caller, list(found)[:_MOST_REFERENCES])
        access = page.registers.access
        return cls(
            {
                uuid: str(present(access, page.caller, pair, stored)["@self"].get("name") or uuid)
                for uuid, (pair, stored) in related.items()
            }
        )

    def text(self, value: Any) -> Text:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, list):
            return self._list(cast("list[Any]", value))
        return as_json(value) if isinstance(value, dict) else _number(value)

    def plain(self, value: Any) -> str:
        """The text without a link."""
        text = self.text(value)
        return text if isinstance(text, str) else text.text

    def _string(self, text: str) -> Text:
        if _UUID.fullmatch(text):
            return Cell(self.names.get(text.lower(), text), Place(("objects", text)))
        return Cell(text, text) if text.startswith(("http://", "https://")) else text

    def _list(self, values: Sequence[Any]) -> Text:
        if len(values) == 1:
            return self.text(values[0])
        if all(isinstance(one, str | int | float) for one in values):
            rest = f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else ""
            return ", ".join(self.plain(one) for one in values[:_MOST_VALUES]) + rest
        return as_json(list(values))


def as_json(value: Any) -> str:
    """JSON with line breaks."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except ValueError:
        return "This value has a number too large to show here."


def _uuids(value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [one.lower() for one in values if isinstance(one, str) and _UUID.fullmatch(one)]


def _number(value: float) -> str:
    if isinstance(value, int) and value.bit_length() > _WIDEST_NUMBER:
        return "a very large number"
    return str(value)
