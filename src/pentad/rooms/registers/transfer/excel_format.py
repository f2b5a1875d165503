"""Excel workbooks (.xlsx).

Reads the first sheet row by row, with openpyxl. A workbook is a ZIP of XML, so its unpacked size is checked before
anything is unpacked, and cells far outside the table are never created. A formula has the value it had when the file
was saved.

Writes one sheet as a stream, without seeking, so an export of any length needs little memory and no temporary file.
Text is never written as a formula; characters XML cannot represent are escaped like Excel does.
"""

import io
import re
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from xml.sax.saxutils import escape, quoteattr

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.rooms.registers.transfer.cells import EXACT_IN_DOUBLE, Schema
from pentad.rooms.registers.transfer.formats import RawRow
from pentad.rooms.registers.transfer.tables import MOST_COLUMNS, NumberedCells, rows_of_table

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOST_UNPACKED: Final = 200 * MIB
MOST_RATIO: Final = 100
MOST_PARTS: Final = 1_000
_MOST_EMPTY: Final = 10_000
_SMALL: Final = 1 * MIB
_DOCTYPE: Final = b"<!DOCTYPE"
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_UNREADABLE: Final = (
    zipfile.BadZipFile, SyntaxError, KeyError, ValueError, TypeError, AttributeError, IndexError, OSError, EOFError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
"""What openpyxl, the XML parser (a SyntaxError) and zipfile raise for a broken file; they do not agree on one error."""
MOST_CELL: Final = 32_767
MOST_ROWS: Final = 1_048_576
_UNSAFE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS: Final = {
    "[Content_Types].xml": (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" Type="{_OFFICE}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>'
    ),
}


def read_excel(source: BinaryIO, schema: Schema, encoding: str | None) -> Iterator[RawRow]:
    """The objects of a workbook's first sheet."""
    yield from rows_of_table(_cells(source), schema)


def _cells(source: BinaryIO) -> Iterator[NumberedCells]:
    from openpyxl import load_workbook  # slow to import; the writer does not need it

    with _readable():
        _check(source)
        book = load_workbook(source, read_only=True, data_only=True, keep_links=False)
    try:
        with _readable():
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # a wrong dimension in the file would produce lots of empty cells
            rows = sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS + 1)
            header = next(rows, ())
        yield 1, header
        with _readable():
            rows = sheet.iter_rows(values_only=True, min_row=2, max_col=max(len(header), 1) + 1)
        yield from _numbered(rows)
    finally:
        book.close()


def _numbered(rows: Iterator[tuple[Any, ...]]) -> Iterator[NumberedCells]:
    """Rows with their numbers; refuses a sheet with cells far below the table."""
    empty = 0
    number = 1
    while True:
        with _readable():
            row = next(rows, None)
        if row is None:
            return
        number += 1
        # Counting is fast, even with the thousands of padding cells that Excel writes for a formatted row.
        empty = empty + 1 if row.count(None) == len(row) else 0
        if empty > _MOST_EMPTY:
            raise InvalidInput(f"The sheet has {_MOST_EMPTY:,} empty rows before row {number}.", hint="Delete them.")
        if empty == 0:
            yield number, [_unescaped(cell) if isinstance(cell, str) else cell for cell in row]


def _unescaped(text: str) -> str:
    """Decode characters that XML cannot represent, which workbooks write as `_x0001_`."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


@contextmanager
def _readable() -> Generator[None]:
    try:
        yield
    except InvalidInput:
        raise
    except _UNREADABLE:
        raise InvalidInput(
            "The file is not an Excel workbook that can be read.", hint="Save it again as .xlsx, or export it as CSV."
        ) from None


def _check(source: BinaryIO) -> None:
    """Refuse a workbook that would unpack to too many bytes; zipfile never yields more than the file declares."""
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


class ExcelWriter:
    """Writes rows to one workbook, in parts."""

    def __init__(self, headers: Sequence[str], title: str = "objects") -> None:
        self._out = _Pipe()
        self._archive = zipfile.ZipFile(self._out, "w", zipfile.ZIP_DEFLATED, compresslevel=5)
        for name, content in _PARTS.items():
            self._archive.writestr(name, _HEAD + content)
        self._archive.writestr("xl/workbook.xml", _HEAD + _workbook(title))
        self._sheet = self._archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True)
        self._sheet.write(f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
        self._rows = 0
        self.add(headers)

    def add(self, cells: Sequence[Any]) -> None:
        self._rows += 1
        if self._rows > MOST_ROWS:
            raise LimitExceeded(f"A sheet has at most {MOST_ROWS:,} rows.", hint="Export as CSV or JSON Lines.")
        self._sheet.write(f"<row>{''.join(map(self._cell, cells))}</row>".encode())

    def _cell(self, value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, float) or (isinstance(value, int) and abs(value) <= EXACT_IN_DOUBLE):
            return f"<c><v>{value!r}</v></c>"
        text = str(value)
        if len(text) > MOST_CELL:
            raise LimitExceeded(
                f"Row {self._rows} has a text of {len(text):,} characters; Excel's limit is {MOST_CELL:,}.",
                hint="Export as CSV or JSON.",
            )
        safe = escape(_UNSAFE.sub(lambda match: f"_x{ord(match[0]):04X}_", text))
        return f'<c t="inlineStr"><is><t xml:space="preserve">{safe}</t></is></c>'

    def drain(self) -> bytes:
        """The bytes written since the last call."""
        return self._out.drain()

    def end(self) -> bytes:
        self._sheet.write(b"</sheetData></worksheet>")
        self._sheet.close()
        self._archive.close()
        return self._out.drain()


class _Pipe(io.RawIOBase):
    """A write-only file, so that zipfile does not seek."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, b: "Buffer", /) -> int:
        part = bytes(b)
        self._parts.append(part)
        return len(part)

    def drain(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _workbook(title: str) -> str:
    name = "".join("_" if sign in "[]:*?/\\'" or sign < " " else sign for sign in title)[:31] or "objects"
    return (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name={quoteattr(name)} sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
