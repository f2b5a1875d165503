"""Tables of objects, as in CSV and Excel: one column per property, with dotted names for nested ones.

`_id` and `_version` identify an object, so a table that was exported, edited and imported again changes the same
objects and cannot overwrite what others changed meanwhile. They stand for `@self.id` and `@self.version`, which
spreadsheet programs would take for formulas. `applicant.bsn` can be a column too: the reference `applicant`, given by a
unique property of its target.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest
from pentad.rooms.registers.query.related_values import value_at
from pentad.rooms.registers.transfer.cells import Schema, read_cell, types_of, write_cell
from pentad.rooms.registers.transfer.formats import Problem, RawRow

IDENTITY: Final = "@self.id"
VERSION: Final = "@self.version"
_SHORT: Final = {IDENTITY: "_id", VERSION: "_version"}
MOST_COLUMNS: Final = 2_000
_DEEPEST: Final = 5

NumberedCells = tuple[int, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its header, the path of its value in the object, and the schema of that value."""

    header: str
    path: tuple[str, ...]
    schema: Schema

    def cell_of(self, data: Mapping[str, Any]) -> str | int | float | bool | None:
        return write_cell(value_at(data, self.path), self.schema)


def columns_of(schema: Schema) -> list[Column]:
    """A column for every declared property; for an object with declared properties, one for each of those."""
    return list(_spread(schema, (), _DEEPEST))


def _spread(schema: Schema, path: tuple[str, ...], depth: int) -> Iterator[Column]:
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    for name, inner in properties.items():
        here = (*path, name)
        closed = types_of(inner) == ("object",) and inner.get("properties") and not inner.get("additionalProperties")
        if closed and depth > 1 and "." not in name:
            yield from _spread(inner, here, depth - 1)
        else:
            yield Column(".".join(here), here, inner)


def identity_headers(schema: Schema) -> list[str]:
    """The headers of id and version; the long names if the schema has properties with the short ones."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    return [name if short in properties else short for name, short in _SHORT.items()]


def with_natural_keys(schema: Schema, keys: Mapping[str, Mapping[str, Schema]]) -> Schema:
    """The schema with the unique properties of reference targets added as members of the references."""
    if not keys:
        return schema
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    references = {
        name: {**properties[name], "properties": dict(parts), "additionalProperties": False}
        for name, parts in keys.items()
        if "array" not in types_of(properties[name])
    }
    return {**schema, "properties": {**properties, **references}}


def match_headers(headers: Sequence[str], schema: Schema) -> list[Column | None]:
    """The column of each header; None for headers to ignore (`@self...` and empty ones)."""
    if len(headers) > MOST_COLUMNS:
        raise InvalidInput(f"The file has {len(headers)} columns; the maximum is {MOST_COLUMNS}.")
    if not any(header.strip() for header in headers):
        raise InvalidInput("The first row has no column names.", hint="Put the properties' names into the first row.")
    problems: list[dict[str, Any]] = []
    found: list[Column | None] = []
    taken: set[tuple[str, ...]] = set()
    for header in headers:
        column = _match(header.strip(), schema)
        if isinstance(column, Column) and _overlaps(column.path, taken):
            column = "another column already sets this property."
        if isinstance(column, str):
            problems.append({"row": 1, "column": header, "problem": column})
        elif column is not None:
            taken.add(column.path)
        found.append(None if isinstance(column, str) else column)
    if problems:
        first = problems[0]
        raise InvalidInput(
            f"The column {first['column']!r} cannot be imported: {first['problem']}",
            hint="Rename the column, or take it out of the file.",
            details={"problems": problems[:50]},
        )
    return found


def _overlaps(path: tuple[str, ...], taken: set[tuple[str, ...]]) -> bool:
    """Whether another column sets the same property, part of it, or an object that contains it."""
    return any(path[: len(other)] == other[: len(path)] for other in taken)


def _match(header: str, schema: Schema) -> Column | str | None:
    """The column, an error message, or None for a header to ignore."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if header in properties:
        return Column(header, (header,), properties[header])
    if header in (IDENTITY, _SHORT[IDENTITY], "id"):
        return Column(header, (IDENTITY,), {"type": "string"})
    if header in (VERSION, _SHORT[VERSION]):
        return Column(header, (VERSION,), {"type": "integer"})
    if not header or header.startswith("@self"):
        return None
    return _nested(header, schema) or _undeclared(header, schema)


def _nested(header: str, schema: Schema) -> Column | None:
    names = header.split(".")
    inner: Schema = schema
    for position, name in enumerate(names):
        properties: Mapping[str, Schema] = inner.get("properties") or {}
        if name not in properties:
            closed = position == 0 or inner.get("additionalProperties") is False
            return None if closed else Column(header, tuple(names), {})
        inner = properties[name]
    return Column(header, tuple(names), inner)


def _undeclared(header: str, schema: Schema) -> Column | str:
    """The error for an undeclared property. JSON Schema allows them, but a typo in a header should not create one."""
    extra = schema.get("additionalProperties")
    if extra is True or (isinstance(extra, Mapping) and extra):
        return Column(header, (header,), {} if extra is True else cast("Schema", extra))
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    below = [f"{name}.{part}" for name, inner in properties.items() for part in inner.get("properties") or ()]
    known = [*(column.header for column in columns_of(schema)), *below]
    similar = nearest(header, known)
    return f"the schema has no such property{f'; did you mean {similar[0]!r}?' if similar else '.'}"


def assemble(cells: Sequence[tuple[Column, Any]]) -> dict[str, Any]:
    """One object from the values of its columns."""
    data: dict[str, Any] = {}
    for column, value in cells:
        target = data
        for name in column.path[:-1]:
            target = cast("dict[str, Any]", target.setdefault(name, {}))
        target[column.path[-1]] = value
    return data


def rows_of_table(cells: Iterable[NumberedCells], schema: Schema) -> Iterator[RawRow]:
    """The objects of a table whose first row names the columns; empty rows are skipped."""
    rows = iter(cells)
    first = next(rows, None)
    if first is None:
        raise InvalidInput("The file is empty.", hint="Its first row should name the properties.")
    headers = ["" if cell is None else str(cell) for cell in first[1]]
    while headers and not headers[-1].strip():
        headers.pop()
    columns = match_headers(headers, schema)
    for number, row in rows:
        if any(cell not in (None, "") for cell in row):
            yield _object(number, row, columns)


def _object(number: int, row: Sequence[Any], columns: Sequence[Column | None]) -> RawRow:
    values: list[tuple[Column, Any]] = []
    problems: list[Problem] = []
    for column, cell in zip(columns, row, strict=False):
        if column is None or cell is None or cell == "":
            continue
        try:
            values.append((column, read_cell(cell, column.schema)))
        except InvalidInput as problem:
            problems.append(Problem(number, column.header, problem.message))
    if any(cell not in (None, "") for cell in row[len(columns) :]):
        problems.append(
            Problem(number, "", f"The row has more cells than the {counted(len(columns), 'column')} of the first row.")
        )
    data = assemble(values)
    uuid, version = data.pop(IDENTITY, None), data.pop(VERSION, None)
    return RawRow(number, data, uuid, version, problems)
