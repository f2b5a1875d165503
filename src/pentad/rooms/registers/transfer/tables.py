"""What CSV and Excel share: a table's cells become an object by its header row, an object becomes a table's row."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.transfer.cells import Schema, read_cell
from pentad.rooms.registers.transfer.columns import IDENTITY, VERSION, Column, assemble, match_headers
from pentad.rooms.registers.transfer.rows import Problem, RawRow

NumberedCells = tuple[int, Sequence[Any]]


def rows_of_table(cells: Iterable[NumberedCells], schema: Schema) -> Iterator[RawRow]:
    """Objects from a table whose first row names the columns; empty rows are passed over."""
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
            Problem(number, "", f"The row has more cells than the {len(columns)} columns of the first row.")
        )
    data = assemble(values)
    uuid, version = data.pop(IDENTITY, None), data.pop(VERSION, None)
    return RawRow(number, data, uuid, version, problems)
