"""What every reader returns: a document as text, or `Unreadable`.

All positions are character offsets into `text`. Passages, sentences and citations are cut from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Format = Literal["pdf", "markdown", "text", "html", "docx", "epub", "lines", "image"]
Reason = Literal["damaged", "encrypted", "empty", "no_text", "too_large", "too_slow", "unsafe", "changed", "unreadable"]

FORMATS: Final[dict[str, Format]] = {
    ".pdf": "pdf", ".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".docx": "docx", ".epub": "epub",
}  # fmt: skip
"""The format of a document by its extension in lower case."""
PICTURE_FORMATS: Final[dict[str, Format]] = dict.fromkeys((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"), "image")
"""The same for images, whose text has to be recognized."""
LINE_FORMATS: Final[dict[str, Format]] = dict.fromkeys(
    (".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".toml", ".ini", ".log", ".eml", ".sql"), "lines"
)
"""The same for plain text other than prose, whose lines stay as they are."""
SCANNED: Final[tuple[Format, ...]] = ("pdf", "image")
"""Formats whose text may have to be recognized."""


class Unreadable(Exception):
    """The document yields no text. `message` is one readable line."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph (level 0) or a heading (level 1 and up)."""

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in the text. Its section ends at the next heading."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page begins. `number` counts all pages from 1, including blank ones; `label` is printed on the page."""

    start: int
    number: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """A page whose text was recognized: its number, the confidence (0 to 1), and a WebP picture of it."""

    page: int
    confidence: float
    picture: bytes


CLEAR_SCAN: Final = 0.9
"""Text recognized with less confidence may contain wrong letters."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a document, with pages or, for formats without pages, headings."""

    text: str
    headings: Sequence[Heading] = ()
    pages: Sequence[Page] = ()
    title: str | None = None
    notes: Sequence[str] = field(default_factory=tuple[str, ...])
    scans: Sequence[Scan] = ()


def of_blocks(blocks: Iterable[Block], *, title: str | None = None, notes: Sequence[str] = ()) -> Extracted:
    """Join paragraphs and headings with empty lines between them."""
    parts: list[str] = []
    headings: list[Heading] = []
    at = 0
    for block in blocks:
        text = block.text.strip()
        if not text:
            continue
        if block.level:
            text = " ".join(text.split())
            headings.append(Heading(at, at + len(text), block.level, text))
        parts.append(text)
        at += len(text) + 2
    return Extracted("\n\n".join(parts), headings, title=title, notes=notes)
