"""What every file format gives and takes: numbered rows in, chunks of bytes out.

A reader yields `RawRow`s one by one and holds no more than one of them; whatever is wrong with the file as a whole is
an InvalidInput, whatever is wrong with one row is a problem of that row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Literal, get_args

from pentad.kernel.errors import InvalidInput
from pentad.kernel.limits import MIB
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
    """What is wrong in one row: the column (or the JSON path) and a sentence."""

    row: int
    column: str
    problem: str

    def wire(self) -> dict[str, Any]:
        return {"row": self.row, "column": self.column, "problem": self.problem}


@dataclass(slots=True)
class RawRow:
    """One object as a file has it. `number` is the row or line a person sees; `uuid` and `version` may be named."""

    number: int
    data: dict[str, Any]
    uuid: str | None = None
    version: int | None = None
    problems: list[Problem] = field(default_factory=list[Problem])


Reader = Callable[[BinaryIO, Schema, str | None], Iterator[RawRow]]


def format_named(name: str) -> Format:
    """The format a person means by a name or by a file's ending."""
    wanted = name.strip().lower().rpartition(".")[2]
    for known in FORMATS:
        if wanted == known:
            return known
    if wanted in _ALIASES:
        return _ALIASES[wanted]
    meant = did_you_mean(wanted, [*FORMATS, *_ALIASES])
    raise InvalidInput(f"There is no format {wanted[:40]!r}.", hint=meant or f"The formats are {', '.join(FORMATS)}.")


def reader_of(kind: Format) -> Reader:
    """The reader of a format, imported when it is wanted: a spreadsheet library is heavy."""
    if kind == "csv":
        from pentad.rooms.registers.transfer.csv_rows import read_csv

        return read_csv
    if kind == "xlsx":
        from pentad.rooms.registers.transfer.excel_rows import read_excel

        return read_excel
    from pentad.rooms.registers.transfer.json_rows import read_json, read_jsonl

    return read_json if kind == "json" else read_jsonl
