"""The messages between a room and the process that reads a document, one JSON object per line:

    {"type": "document", "text": ..., "sha256": ..., "title": ..., "pages": 12, "tokens": 9000, "notes": [...]}
    {"type": "passage", "chunk": {"start": 0, "end": 812, "sentences": [[0, 120], ...], ...}}     for every passage
    {"type": "scan", "scan": {"page": 3, "confidence": 0.97, "picture": ...}}        for every page that was recognized
    {"type": "done"}                        or                   {"type": "failed", "reason": ..., "message": ...}

A malicious document may have taken over the reader, so the reader's messages are validated.
"""

from typing import Final

import msgspec

from pentad.documents.chunks import Chunk
from pentad.documents.document import Format, Reason, Scan


class Task(msgspec.Struct, frozen=True):
    """What to read, and the limits the process sets for itself. Without a chunk size, only the text is returned.

    `scan_seconds` and `scan_memory_bytes` are added to the limits once text has to be recognized. Without them, no text
    is recognized.
    """

    format: Format
    chunk_size: int
    chunk_overlap: int
    memory_bytes: int
    cpu_seconds: int
    wall_seconds: float
    file_bytes: int
    text_characters: int
    scan_seconds: int = 0
    scan_memory_bytes: int = 0


class Head(msgspec.Struct, frozen=True, tag="document"):
    """The document as a whole. `pages` is None for a format without pages."""

    text: str
    sha256: str
    title: str | None
    pages: int | None
    tokens: int
    notes: list[str]


class Found(msgspec.Struct, frozen=True, tag="passage"):
    """One passage of the document."""

    chunk: Chunk


class Scanned(msgspec.Struct, frozen=True, tag="scan"):
    """One page whose text was recognized."""

    scan: Scan


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The end: everything was sent."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The reason there is no text."""

    reason: Reason
    message: str


Line = Head | Found | Scanned | Done | Failed
LINES: Final = msgspec.json.Decoder(Line)
