"""CSV with or without a byte order mark, separated by commas, semicolons, tabs or bars.

A cell that a spreadsheet program would run as a formula gets a leading apostrophe, the programs' own mark for text, and
loses it again on reading. Numbers stay numbers.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.transfer.cells import Schema
from pentad.rooms.registers.transfer.formats import MOST_CELL_CHARACTERS, RawRow
from pentad.rooms.registers.transfer.tables import NumberedCells, rows_of_table

_DANGEROUS: Final = re.compile(r"'*[=+\-@\t\r]")
_GUARDED: Final = re.compile(r"'+[=+\-@\t\r]")
_SEPARATORS: Final = ",;\t|"
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LONGEST_HEADER: Final = 1 << 20

csv.field_size_limit(MOST_CELL_CHARACTERS)  # the csv module's default limit is below what Pentad stores and exports


def read_csv(source: BinaryIO, schema: Schema, encoding: str | None) -> Iterator[RawRow]:
    """The objects of a CSV file."""
    yield from rows_of_table(_cells(source, encoding), schema)


def _cells(source: BinaryIO, encoding: str | None) -> Iterator[NumberedCells]:
    chosen = encoding or _encoding(source)
    try:
        text = io.TextIOWrapper(source, encoding=chosen, errors="strict", newline="")
    except LookupError:
        raise InvalidInput(f"There is no encoding {chosen[:40]!r}.", hint="Try utf-8 or windows-1252.") from None
    try:
        reader = csv.reader(text, delimiter=_separator(text), strict=True)
        for row in reader:
            yield reader.line_num, [unescape_formula(cell) for cell in row]
    except UnicodeError:
        raise InvalidInput(
            f"The file is not {chosen} text.", hint="Save it as UTF-8, or name its encoding, such as windows-1252."
        ) from None
    except csv.Error as error:
        raise _unreadable(error) from None
    finally:
        if not source.closed:
            text.detach()  # the caller closes the stream


def _unreadable(error: csv.Error) -> InvalidInput:
    if "field larger" in str(error):
        return LimitExceeded(
            f"A cell is longer than {MOST_CELL_CHARACTERS:,} characters.", hint="Is a quotation mark left open?"
        )
    return InvalidInput(f"The CSV cannot be read: {error}.", hint="Quotation marks inside a cell are doubled.")


def _encoding(source: BinaryIO) -> str:
    start = source.read(4)
    source.seek(-len(start), io.SEEK_CUR)
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


def _separator(text: io.TextIOWrapper) -> str:
    """The most frequent separator in the header row, outside quotation marks. Rewinds the text."""
    header = text.readline(_LONGEST_HEADER)
    text.seek(0)
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_SEPARATORS, key=bare.count)


def escape_formula(cell: Any) -> Any:
    """The cell, safe to open in a spreadsheet program."""
    return f"'{cell}" if isinstance(cell, str) and _DANGEROUS.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """The text behind a guarded cell."""
    return cell[1:] if cell.startswith("'") and _GUARDED.match(cell) else cell


class CsvWriter:
    """Writes rows in parts. Starts with a byte order mark, or spreadsheet programs would guess the wrong encoding."""

    def __init__(self, headers: Sequence[str]) -> None:
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer, lineterminator="\r\n")
        self._buffer.write("\ufeff")
        self._writer.writerow([escape_formula(header) for header in headers])

    def add(self, cells: Sequence[Any]) -> None:
        self._writer.writerow([escape_formula("true" if c is True else "false" if c is False else c) for c in cells])

    def drain(self) -> bytes:
        """The bytes written since the last call."""
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text.encode()

    def end(self) -> bytes:
        return self.drain()
