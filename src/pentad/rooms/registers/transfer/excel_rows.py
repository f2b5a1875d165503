"""Excel workbooks (.xlsx) as tables: the first sheet, read row by row with openpyxl.

A workbook is a ZIP of XML, so its size is judged by what it would unpack to before anything is unpacked, and
cells far out of the table are never built. Formulas are read as the value they had when the file was saved.
"""

import re
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final
from xml.etree.ElementTree import ParseError

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.limits import MIB
from pentad.rooms.registers.transfer.cells import Schema
from pentad.rooms.registers.transfer.columns import MOST_COLUMNS
from pentad.rooms.registers.transfer.rows import RawRow
from pentad.rooms.registers.transfer.tables import NumberedCells, rows_of_table

MOST_UNPACKED: Final = 200 * MIB
MOST_RATIO: Final = 100
MOST_PARTS: Final = 1_000
_MOST_EMPTY: Final = 10_000
_SMALL: Final = 1 * MIB
_DOCTYPE: Final = b"<!DOCTYPE"
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_NOT_EXCEL: Final = (
    zipfile.BadZipFile, InvalidFileException, ParseError, KeyError, ValueError, TypeError, AttributeError, IndexError,
    OSError, EOFError, NotImplementedError, RuntimeError,
)  # fmt: skip
"""What openpyxl and zipfile raise for a file that is not what it claims to be; they do not agree on one."""


def read_excel(source: BinaryIO, schema: Schema, encoding: str | None) -> Iterator[RawRow]:
    """The objects of a workbook's first sheet."""
    yield from rows_of_table(_cells(source), schema)


def _cells(source: BinaryIO) -> Iterator[NumberedCells]:
    with _readable():
        _check(source)
        book = load_workbook(source, read_only=True, data_only=True, keep_links=False)
    try:
        with _readable():
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what a file says of its own extent may be untrue, and would be filled up
            rows = sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS + 1)
            header = next(rows, ())
        yield 1, header
        with _readable():
            rows = sheet.iter_rows(values_only=True, min_row=2, max_col=max(len(header), 1) + 1)
        yield from _numbered(rows)
    finally:
        book.close()


def _numbered(rows: Iterator[tuple[Any, ...]]) -> Iterator[NumberedCells]:
    """Rows with their numbers; a file that claims a cell a million rows down is not followed there."""
    empty = 0
    number = 1
    while True:
        with _readable():
            row = next(rows, None)
        if row is None:
            return
        number += 1
        empty = empty + 1 if row.count(None) == len(row) else 0
        if empty > _MOST_EMPTY:
            raise InvalidInput(f"The sheet has {_MOST_EMPTY:,} empty rows before row {number}.", hint="Delete them.")
        if empty == 0:
            yield number, [_unescaped(cell) if isinstance(cell, str) else cell for cell in row]


def _unescaped(text: str) -> str:
    """Characters XML cannot hold stand in workbooks as `_x0001_`."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


@contextmanager
def _readable() -> Generator[None]:
    try:
        yield
    except InvalidInput:
        raise
    except _NOT_EXCEL:
        raise InvalidInput(
            "The file is not an Excel workbook that can be read.", hint="Save it again as .xlsx, or export it as CSV."
        ) from None


def _check(source: BinaryIO) -> None:
    """Refuse what would unpack to too much, before it is unpacked; zipfile never gives more than was declared."""
    with zipfile.ZipFile(source) as parts:
        entries = parts.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        packed = sum(entry.compress_size for entry in entries)
        if len(entries) > MOST_PARTS or unpacked > MOST_UNPACKED or unpacked > max(packed, 1) * MOST_RATIO + _SMALL:
            raise LimitExceeded(
                f"The workbook unpacks to {unpacked:,} bytes in {len(entries):,} parts, which is too much.",
                hint="Split it, or save it as CSV.",
            )
        for entry in entries:
            with parts.open(entry) as part:
                if entry.filename.endswith((".xml", ".rels")) and _DOCTYPE in part.read(4096):
                    raise InvalidInput("The workbook declares XML entities, which no spreadsheet program does.")
    source.seek(0)
