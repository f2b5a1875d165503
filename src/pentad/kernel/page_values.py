"""JSON values as blocks of a page: members as facts, lists of flat objects as tables, anything deeper as trees. Also
tables without empty columns."""

import re
from collections.abc import Sequence
from typing import Any, Final, cast

from pentad.kernel.pages import Block, Cell, Column, Fact, Facts, Hint, Table, Text, Tree

_MOST_COLUMNS: Final = 8
_WIDEST_NUMBER: Final = 1_000
_TITLES: Final = ("name", "title")
"""Members that come first in a table: they say what its rows are about."""
_INNER_WORD: Final = re.compile("(?<=[a-z0-9])(?:([A-Z]{2,})(?![a-z])|[A-Z])")


def value_blocks(value: Any) -> list[Block]:
    """Blocks for a value that is the whole content of a page or section."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return [Facts([(label(name), fact(one)) for name, one in members.items()])]
    shown = fact(value)
    return [shown] if isinstance(shown, Table | Tree) else [Tree(value)]


def fact(value: Any) -> Fact:
    """A value next to its name."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return Tree(value) if isinstance(value, dict) else scalar_text(value)
    values = cast("list[Any]", value)
    if is_plain(values):
        return [scalar_text(one) for one in values]
    columns = flat_columns(values)
    if not columns:
        return Tree(values)
    columns = dict(sorted(columns.items(), key=lambda one: one[0] not in _TITLES))
    heads = [Column(label(name), is_number) for name, is_number in columns.items()]
    return Table(heads, [[_cell(row.get(name)) for name in columns] for row in values])


def flat_columns(values: Sequence[Any]) -> dict[str, bool]:
    """The members of flat objects, each with whether it is numeric. Empty if a table cannot show the values. A flat
    object holds plain values and lists of them."""
    columns: dict[str, bool] = {}
    for one in values:
        if not isinstance(one, dict):
            return {}
        for name, value in cast("dict[str, Any]", one).items():
            if isinstance(value, dict) or (isinstance(value, list) and not is_plain(cast("list[Any]", value))):
                return {}
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            columns[name] = columns.get(name, True) and (is_number or value is None)
    return columns if len(columns) <= _MOST_COLUMNS else {}


def is_plain(values: Sequence[Any]) -> bool:
    """Whether no value holds others."""
    return not any(isinstance(one, dict | list) for one in values)


def _cell(value: Any) -> str:
    return ", ".join(map(scalar_text, cast("list[Any]", value))) if isinstance(value, list) else scalar_text(value)


def filled_table(columns: Sequence[Column | str], rows: Sequence[Sequence[Text]], empty: str | Hint = "") -> Table:
    """A table without the columns that are empty in every row."""
    used = [n for n in range(len(columns)) if any(_has_text(row[n]) for row in rows)]
    return Table([columns[n] for n in used], [[row[n] for n in used] for row in rows], empty)


def _has_text(text: Text) -> bool:
    return bool(text.text if isinstance(text, Cell) else text)


def label(name: str) -> str:
    """A member name in readable form: `businessGroup` and `business_group` are `Business group`, `baseURL` is
    `Base URL`."""
    words = _INNER_WORD.sub(lambda found: f" {found[1] or found[0].lower()}", name).replace("_", " ").strip()
    return capitalised(words)


def capitalised(text: str) -> str:
    """A text that begins a line or a sentence."""
    return text[:1].upper() + text[1:]


def scalar_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and value.bit_length() > _WIDEST_NUMBER:
        return "a very large number"
    return str(value)
