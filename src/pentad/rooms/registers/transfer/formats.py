"""File formats: their names, and the rows their readers yield.

A reader yields one `RawRow` at a time. An error in the whole file raises InvalidInput; an error in one row is a problem
of that row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Literal, get_args

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.transfer.cells import Schema

Format = Literal["csv", "xlsx", "json", "jsonl"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MEDIA_TYPES: Final[dict[Format, str]] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
MOST_CELL_CHARACTERS: Final = 1 * MIB
MOST_ROW_BYTES: Final = 4 * MIB
_ALIASES: Final[dict[str, Format]] = {"ndjson": "jsonl", "excel": "xlsx", "tsv": "csv", "txt": "csv"}


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in one row: the column (or the JSON path) and a sentence."""

    row: int
    column: str
    problem: str

    def wire(self) -> dict[str, Any]:
        return {"row": self.row, "column": self.column, "problem": self.problem}


@dataclass(slots=True)
class RawRow:
    """One object in a file. `number` is the row or line as people see it; `uuid` and `version` are optional.

    A `whole` row replaces all data of an existing object; others change only the properties they have.
    """

    number: int
    data: dict[str, Any]
    uuid: str | None = None
    version: int | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    whole: bool = False


Reader = Callable[[BinaryIO, Schema, str | None], Iterator[RawRow]]


def format_named(name: str) -> Format:
    """The format for a name or a file name's extension."""
    kind = name.strip().lower().rpartition(".")[2]
    for known in FORMATS:
        if kind == known:
            return known
    if kind in _ALIASES:
        return _ALIASES[kind]
    guess = did_you_mean(kind, [*FORMATS, *_ALIASES])
    raise InvalidInput(f"There is no format {kind[:40]!r}.", hint=guess or f"The formats are {', '.join(FORMATS)}.")


def reader_of(kind: Format) -> Reader:
    """The reader of a format. Imports it on demand."""
    if kind == "csv":
        from pentad.rooms.registers.transfer.csv_format import read_csv

        return read_csv
    if kind == "xlsx":
        from pentad.rooms.registers.transfer.excel_format import read_excel

        return read_excel
    from pentad.rooms.registers.transfer.json_format import read_json, read_jsonl

    return read_json if kind == "json" else read_jsonl
