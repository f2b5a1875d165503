"""Writes an Excel workbook as a stream: one sheet, text, numbers and truth, nothing else.

A ZIP can be written without ever going back, so an export of any length needs no memory and no temporary file. Text is
written as text, never as a formula; what XML cannot hold is escaped the way Excel itself does it.
"""

import io
import re
import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

from pentad.kernel.errors import LimitExceeded
from pentad.rooms.registers.transfer.cells import EXACT_IN_DOUBLE

if TYPE_CHECKING:
    from typing_extensions import Buffer

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


class ExcelWriter:
    """Rows to one workbook, a part at a time."""

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

    def taken(self) -> bytes:
        """What was written since it was last asked."""
        return self._out.taken()

    def end(self) -> bytes:
        self._sheet.write(b"</sheetData></worksheet>")
        self._sheet.close()
        self._archive.close()
        return self._out.taken()


class _Pipe(io.RawIOBase):
    """A file that can only be written: zipfile then needs no way back."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, b: "Buffer", /) -> int:
        part = bytes(b)
        self._parts.append(part)
        return len(part)

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _workbook(title: str) -> str:
    name = "".join("_" if sign in "[]:*?/\\'" or sign < " " else sign for sign in title)[:31] or "objects"
    return (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name={quoteattr(name)} sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
