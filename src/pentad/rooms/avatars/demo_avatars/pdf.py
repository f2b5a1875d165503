"""Writes text as a PDF with numbered pages: the demo's citations get pages without binary files in the repository.

The same text always gives the same bytes. One font, no pictures; not meant for real documents.
"""

import textwrap
from collections.abc import Sequence
from typing import Final

PAGE_BREAK: Final = "\f"
_WIDTH: Final = 92
_TOP: Final = 730
_BOTTOM: Final = 40
_LEADING: Final = 14
_FONT: Final = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
_ROMAN: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii")


def printed(text: str, front_pages: int) -> bytes:
    """A PDF of a text with form feeds between pages. Front pages get Roman numbers, the others Arabic ones."""
    pages = [_lines(page) for page in text.split(PAGE_BREAK)]
    fixed = 3
    first = fixed + 1
    kids = " ".join(f"{first + 2 * place} 0 R" for place in range(len(pages)))
    labels = f"0 << /S /r >> {front_pages} << /S /D >>" if front_pages else "0 << /S /D >>"
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /PageLabels << /Nums [{labels}] >> >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        _FONT,
    ]
    for place, lines in enumerate(pages):
        stream = _stream(lines, _label(place, front_pages))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {first + 2 * place + 1} 0 R"
            f" /Resources << /Font << /F1 {fixed} 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    return _file([each.encode("cp1252") for each in objects])


def _label(place: int, front_pages: int) -> str:
    return _ROMAN[place] if place < front_pages else str(place - front_pages + 1)


def _lines(page: str) -> list[str]:
    """The lines of a page, with an empty line between paragraphs."""
    lines: list[str] = []
    for paragraph in page.strip().splitlines():
        lines += textwrap.wrap(paragraph, _WIDTH) or [""]
    return lines


def _stream(lines: Sequence[str], label: str) -> str:
    """The drawing commands of a page: its lines and, at the foot, its number; nothing for a blank page."""
    if not lines:
        return ""
    placed = [(_TOP - _LEADING * row, line) for row, line in enumerate(lines) if line]
    shown = [f"1 0 0 1 56 {height} Tm ({_escaped(line)}) Tj" for height, line in [*placed, (_BOTTOM, label)]]
    return "BT /F1 11 Tf\n" + "\n".join(shown) + "\nET"


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _file(objects: Sequence[bytes]) -> bytes:
    """The objects with their cross-reference table."""
    out = bytearray(b"%PDF-1.4\n")
    table = [b"0000000000 65535 f \n"]
    for number, body in enumerate(objects, start=1):
        table.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n%b" % (len(table), b"".join(table))
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(table), start)
    return bytes(out)
