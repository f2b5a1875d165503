"""Files attached to objects, kept in the database: backups include them, every process sees the same files, and purging
an object deletes its files in the same transaction.

A new file is queued for the job that extracts its text (`text.py`).
"""

import base64
import binascii
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final, Literal
from urllib.parse import quote

from pentad.documents.document import FORMATS, LINE_FORMATS, Format
from pentad.kernel.clock import iso
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.ports import Transaction

MOST_FILES: Final = 100
PIECE: Final = 1 * MIB
_LONGEST_NAME: Final = 200
_FORBIDDEN: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u200b-\u200f\u202a-\u202e\u2066-\u2069]')
SELECT: Final = (
    "SELECT files.id, files.name, files.size, files.modified_at, texts.state, texts.problem, texts.characters"
    " FROM files JOIN attachment_texts AS texts ON texts.file = files.id WHERE files.object = ?"
)
_PENDING: Final = "Search finds it within seconds."
TEXT_JOB: Final = "registers.attachment_text"

TextState = Literal["pending", "done", "failed", "unsupported"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attached file and the state of its text. A file that replaces another gets a new id."""

    id: str
    name: str
    size: int
    modified_at: float
    state: TextState = "pending"
    problem: str | None = None
    characters: int = 0

    @property
    def media_type(self) -> str:
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    def uri(self, object_uri: str) -> str:
        """The URI of the file's resource."""
        return attachment_uri(object_uri, self.name)

    def text_uri(self, object_uri: str) -> str:
        """The URI of the resource with its text."""
        return f"{self.uri(object_uri)}/text"

    @property
    def text_state(self) -> dict[str, Any]:
        """Whether there is text to read and search and, if not, why."""
        if self.state == "done":
            return {"state": self.state, "characters": self.characters}
        if self.state == "pending":
            return {"state": self.state, "note": _PENDING}
        return {"state": self.state, "why": self.problem} if self.problem else {"state": self.state}

    def wire(self) -> dict[str, Any]:
        return {
            "name": self.name, "size": self.size, "type": self.media_type, "modified": iso(self.modified_at),
            "text": self.text_state,
        }  # fmt: skip


def attachment_uri(object_uri: str, name: str) -> str:
    """The resource URI of an object's file."""
    return f"{object_uri}/attachments/{quote(name, safe='')}"


def format_of(name: str) -> Format | None:
    """The format of a file, if its text can be extracted."""
    suffix = PurePosixPath(name).suffix.lower()
    return FORMATS.get(suffix) or LINE_FORMATS.get(suffix)


def first_state(name: str, size: int) -> TextState:
    """The text state of a new file. An empty file has no text to extract."""
    if format_of(name) is None:
        return "unsupported"
    return "pending" if size else "done"


def checked_name(name: str) -> str:
    """Check a file name. A valid name cannot escape the folder it is saved in."""
    if (
        not name
        or name != name.strip()
        or name.startswith(".")
        or name.endswith(".")
        or _FORBIDDEN.search(name)
        or len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME
    ):
        raise InvalidInput(
            f"{name[:80]!r} cannot be a file's name.",
            hint=f'At most {_LONGEST_NAME} bytes, no dot at either end, none of / \\ : * ? " < > |.',
        )
    return name


def store_file(tx: Transaction, uuid: str, attachment: Attachment, source: BinaryIO) -> None:
    tx.run("DELETE FROM files WHERE object = ? AND name = ?", uuid, attachment.name)
    tx.run(
        "INSERT INTO files (id, object, name, size, modified_at) VALUES (?, ?, ?, ?, ?)",
        attachment.id, uuid, attachment.name, attachment.size, attachment.modified_at,
    )  # fmt: skip
    tx.run(
        "INSERT INTO attachment_texts (file, object, schema, state) SELECT CAST(? AS TEXT), id, schema, CAST(? AS TEXT)"
        " FROM objects WHERE uuid = ?",
        attachment.id, attachment.state, uuid,
    )  # fmt: skip
    for number, piece in enumerate(_pieces(source)):
        tx.run("INSERT INTO file_pieces (file, number, content) VALUES (?, ?, ?)", attachment.id, number, piece)


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    """The pieces, always from the start, because a transaction may be retried."""
    source.seek(0)
    while piece := source.read(PIECE):
        yield piece


def decode_base64(text: str, argument: str, hint: str) -> bytes:
    """Decode the content of a file sent as base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{argument} is not valid base64.", hint=hint) from None


def no_file(name: str) -> NotFound:
    return NotFound(f"The object has no file {name[:80]!r}.", hint="List its files.", details={"kind": "file"})
