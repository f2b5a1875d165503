"""Fills the room for `pentad demo`: two people of the nineteenth century and the rules of a town, with corpora written
for the demo.

The folders are ingested like any other. They are the same every time, so a second start changes nothing.
"""

import asyncio
import shutil
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.rooms.avatars.config import json_file
from pentad.rooms.avatars.corpus.ingest_plan import CORPUS_FOLDER
from pentad.rooms.avatars.corpus.sources import SOURCES_FILE

if TYPE_CHECKING:
    from pentad.rooms.avatars.service import Avatars


FOLDERS: Final = Path(__file__).parents[1] / "demo_avatars"
PEOPLE: Final = ("charles-babbage", "florence-nightingale")
AVATARS: Final = (*PEOPLE, "tree-office")
_PAGES: Final = ".pages.txt"
"""Files with this ending are converted to PDF."""


def write_avatar(avatar_id: str, into: Path) -> Path:
    """Write the folder of a demo avatar, with some of its texts as PDF."""
    folder = Path(shutil.copytree(FOLDERS / avatar_id, into / avatar_id))
    corpus = folder / CORPUS_FOLDER
    for source in _sources(corpus):
        text = corpus / f"{source['id']}{_PAGES}"
        if text.is_file():
            data = printed(text.read_text("utf-8"), int(source.get("front_pages", 0)))
            (corpus / f"{source['id']}.pdf").write_bytes(data)
            text.unlink()
    return folder


async def fill_demo(avatars: "Avatars") -> None:
    """Ingest the avatars."""
    with tempfile.TemporaryDirectory(prefix="pentad-demo-") as name:
        for avatar_id in AVATARS:
            await avatars.ingest(await asyncio.to_thread(write_avatar, avatar_id, Path(name)))


def _sources(corpus: Path) -> Iterator[dict[str, Any]]:
    described = cast("dict[str, Any]", json_file(corpus / SOURCES_FILE, "It describes the documents."))
    yield from cast("list[dict[str, Any]]", described["sources"])


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
