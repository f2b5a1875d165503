"""Reads a document in a separate process with limits on memory, time and output.

Documents are untrusted: one may be broken, huge, or crafted to attack its reader. The worst result is `Unreadable`,
with one line that says why.
"""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from pentad.documents.chunks import Chunk
from pentad.documents.document import Format, Unreadable
from pentad.documents.protocol import LINES, Done, Failed, Found, Head, Line, Task
from pentad.kernel.default_limits import MIB

_CHILD: Final = "pentad.documents.child"
_AT_ONCE: Final = 1 * MIB


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The resources one document may use."""

    file_bytes: int = 256 * MIB
    memory_bytes: int = 1536 * MIB
    cpu_seconds: int = 120
    wall_seconds: float = 240.0
    text_characters: int = 32 * MIB
    output_bytes: int = 256 * MIB


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as text, and passages if they were asked for. `pages` is None for a format without pages."""

    text: str
    sha256: str
    title: str | None
    pages: int | None
    tokens: int
    notes: list[str]
    chunks: list[Chunk]


async def read_document(path: Path, kind: Format, size: int, overlap: int, limits: ReadingLimits) -> ReadDocument:
    """Read the document in a file, as text and passages; Unreadable says in one line why that failed."""
    with path.open("rb") as source:
        return await _read(source, kind, size, overlap, limits)


async def read_text(source: BinaryIO, kind: Format, limits: ReadingLimits) -> ReadDocument:
    """Read the text of the document in an open file; Unreadable says in one line why that failed."""
    return await _read(source, kind, 0, 0, limits)


async def _read(source: BinaryIO, kind: Format, size: int, overlap: int, limits: ReadingLimits) -> ReadDocument:
    task = Task(kind, size, overlap, limits.memory_bytes, limits.cpu_seconds, limits.file_bytes, limits.text_characters)
    output, code = await _output(source, task, limits)
    return _checked(output, code, limits, passages=size > 0)


async def _output(source: BinaryIO, task: Task, limits: ReadingLimits) -> tuple[bytes, int]:
    """The output of the process and its exit code."""
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    if sys.platform == "win32":
        environment["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-X", "utf8", "-m", _CHILD, msgspec.json.encode(task).decode(),
        stdin=source, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(limits.wall_seconds):
            output = await _collected(process, limits)
            return output, await process.wait()
    except TimeoutError:
        raise Unreadable("too_slow", f"Reading it took longer than {limits.wall_seconds:g} seconds.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _collected(process: asyncio.subprocess.Process, limits: ReadingLimits) -> bytes:
    """All output, within the limit."""
    output = bytearray()
    stream = process.stdout
    while stream is not None and (some := await stream.read(_AT_ONCE)):
        output += some
        if len(output) > limits.output_bytes:
            raise Unreadable("too_large", f"Its text is larger than {limits.output_bytes:,} bytes.")
    return bytes(output)


def _checked(output: bytes, code: int, limits: ReadingLimits, *, passages: bool) -> ReadDocument:
    """The document in these messages, if they are complete and consistent."""
    head: Head | None = None
    chunks: list[Chunk] = []
    try:
        for raw in output.splitlines():
            line: Line = LINES.decode(raw)
            match line:
                case Failed(reason, message):
                    raise Unreadable(reason, message)
                case Head() as head:
                    pass
                case Found(chunk):
                    chunks.append(chunk)
                case Done():
                    if head is not None and bool(chunks) is passages and _agree(head, chunks):
                        return ReadDocument(
                            head.text, head.sha256, head.title, head.pages, head.tokens, head.notes, chunks
                        )
    except msgspec.DecodeError:
        pass
    raise _ended(code, limits)


def _agree(head: Head, chunks: list[Chunk]) -> bool:
    """Whether all ranges lie within the text and within each other."""
    return all(
        0 <= chunk.start < chunk.end <= len(head.text)
        and bool(chunk.sentences)
        and len(chunk.pages) in (0, len(chunk.sentences))
        and all(chunk.start <= start < end <= chunk.end for start, end in chunk.sentences)
        for chunk in chunks
    )


def _ended(code: int, limits: ReadingLimits) -> Unreadable:
    """Why the process did not finish."""
    if sys.platform != "win32" and code in (-signal.SIGXCPU, -signal.SIGKILL):
        return Unreadable("too_slow", f"Reading it took more than {limits.cpu_seconds} seconds of processor time.")
    return Unreadable("unreadable", "It crashed the reader: it is damaged or malicious.")
