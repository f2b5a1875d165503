"""Reads one document in a separate process, and writes its text, or the reason there is none, to a pipe.

If a document crashes a parser, only this process ends. `fork_server` starts the process; on systems without fork,
`python -m pentad.documents.reader_process TASK < file` does.
"""

import hashlib
import re
import sys
from importlib import import_module
from types import ModuleType
from typing import BinaryIO, Final

import msgspec

from pentad.documents.chunks import chunks
from pentad.documents.confinement import confine
from pentad.documents.document import SCANNED, Extracted, Unreadable
from pentad.documents.instructions import instruction_hint
from pentad.documents.protocol import Done, Failed, Found, Head, Line, Scanned, Task
from pentad.documents.text_recognition import TextRecognizer
from pentad.documents.tokens import tokens

_KINDS: Final = (
    ("e-mail address", "e-mail addresses", re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b")),
    ("phone number", "phone numbers", re.compile(r"(?<![\w.])\+\d{1,3}[ (.-]{1,2}\d(?:[ ().-]{0,2}\d){6,12}(?!\w)")),
    ("social security number", "social security numbers", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    ("account number", "account numbers", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
)
_CARD: Final = re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")


def personal_hint(text: str) -> str | None:
    """One line for the report, or None."""
    counts = [(len(pattern.findall(text)), one, several) for one, several, pattern in _KINDS]
    cards = sum(_checksum_holds(match) for match in _CARD.findall(text))
    counts.append((cards, "card number", "card numbers"))
    found = [f"{count:,} {one if count == 1 else several}" for count, one, several in counts if count]
    return f"may hold personal data: {', '.join(found)}" if found else None


def _checksum_holds(number: str) -> bool:
    """Luhn's checksum, which card numbers pass and most other numbers do not."""
    digits = [int(character) for character in reversed(number) if character.isdigit()]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + doubled) % 10 == 0


_READERS: Final = {
    "pdf": "pdf", "markdown": "markdown", "text": "plain_text", "html": "html", "docx": "docx", "epub": "epub",
    "lines": "plain_text", "image": "image",
}  # fmt: skip
_LONGEST_TITLE: Final = 300


def main() -> None:
    task = msgspec.json.decode(sys.argv[1].encode(), type=Task)
    confine(task)
    answer(task, sys.stdin.buffer, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def answer(task: Task, source: BinaryIO, out: BinaryIO) -> None:
    """Write the document to `out`, or the reason it cannot be read."""
    try:
        run(task, source, out)
    except Unreadable as refusal:
        write(out, Failed(refusal.reason, refusal.message))
    except MemoryError:
        write(out, Failed("too_large", f"Reading it takes more than {task.memory_bytes // 1_048_576:,} MiB of memory."))
    except RecursionError:
        write(out, Failed("unsafe", "It is nested too deeply to be read."))


def run(task: Task, source: BinaryIO, out: BinaryIO) -> None:
    """Read the document and write its text, and its passages if the task asks for them, to `out`."""
    data = source.read(task.file_bytes + 1)
    if len(data) > task.file_bytes:
        raise Unreadable("too_large", f"It is larger than {task.file_bytes:,} bytes.")
    if not data.strip():
        raise Unreadable("empty", "It is empty.")
    digest = hashlib.sha256(data).hexdigest()
    document = extracted(task, data)
    del data
    if len(document.text) > task.text_characters:
        raise Unreadable("too_large", f"It has more than {task.text_characters:,} characters of text.")
    found = chunks(document, task.chunk_size, task.chunk_overlap) if task.chunk_size else []
    if not (found if task.chunk_size else document.text.strip()):
        raise Unreadable("no_text", "It has no text.")
    hints = [hint for hint in (personal_hint(document.text), instruction_hint(document.text)) if hint]
    write(out, Head(
        document.text, digest, (document.title or "")[:_LONGEST_TITLE] or None, len(document.pages) or None,
        tokens(document.text), [*document.notes, *hints],
    ))  # fmt: skip
    for chunk in found:
        write(out, Found(chunk))
    for scan in document.scans if found else ():
        write(out, Scanned(scan))
    write(out, Done())


def extracted(task: Task, data: bytes) -> Extracted:
    """The text of a document."""
    reader = load(task.format)
    if task.format == "lines":
        return reader.read_lines(data)
    if task.format in SCANNED and task.scan_seconds:
        return reader.read(data, TextRecognizer(task.scan_seconds))
    return reader.read(data)


def load(kind: str) -> ModuleType:
    """The reader of a format; those of other formats are not loaded."""
    return import_module(f"pentad.documents.{_READERS[kind]}")


def write(out: BinaryIO, line: Line) -> None:
    out.write(msgspec.json.encode(line) + b"\n")


if __name__ == "__main__":
    main()
