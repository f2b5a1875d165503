"""Reads documents in separate processes with limits on memory, time and output.

Documents are untrusted: one may be broken, huge, or crafted to attack its reader. The worst result is `Unreadable`,
with one line that says why.
"""

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import msgspec

from pentad.documents.chunks import Chunk
from pentad.documents.document import SCANNED, Format, Scan, Unreadable
from pentad.documents.protocol import LINES, Done, Failed, Found, Head, Line, Scanned, Task
from pentad.documents.text_recognition import is_installed
from pentad.kernel.default_limits import MIB

_AT_ONCE: Final = 1 * MIB
_EXIT_CODE_BYTES: Final = 4
_LARGEST_PICTURE: Final = 1 * MIB


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The resources one document may use; the scan limits are added if text has to be recognized."""

    file_bytes: int = 256 * MIB
    memory_bytes: int = 1536 * MIB
    cpu_seconds: int = 120
    wall_seconds: float = 240.0
    text_characters: int = 32 * MIB
    output_bytes: int = 256 * MIB
    scan_seconds: int = 1800
    scan_memory_bytes: int = 1024 * MIB


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document as text, with passages if requested. `pages` is None for a format without pages."""

    text: str
    sha256: str
    title: str | None
    pages: int | None
    tokens: int
    notes: list[str]
    chunks: list[Chunk]
    scans: list[Scan] = field(default_factory=list[Scan])


class DocumentReaders:
    """Reads many documents, each in a separate process forked from one that is ready.

    Reads as many documents at once as there are waiting calls. Whatever ends a reading early (a crash, a limit or the
    caller) ends only the processes of that document.
    """

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._idle: list[_ForkServer] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._idle:
            await self._idle.pop().kill()

    async def read(self, path: Path, kind: Format, size: int, overlap: int) -> ReadDocument:
        """Read the document in a file, as text and passages; Unreadable says in one line why that failed."""
        with path.open("rb") as source:
            return await self.read_open(source, kind, size, overlap)

    async def read_open(self, source: BinaryIO, kind: Format, size: int = 0, overlap: int = 0) -> ReadDocument:
        """The same for an open file. Without a size, only the text is returned."""
        limits = self._limits
        recognizes = kind in SCANNED and is_installed()
        task = Task(
            kind, size, overlap, limits.memory_bytes, limits.cpu_seconds, limits.wall_seconds, limits.file_bytes,
            limits.text_characters, limits.scan_seconds if recognizes else 0,
            limits.scan_memory_bytes if recognizes else 0,
        )  # fmt: skip
        output, code = await self._output(source, task)
        return _checked(output, code, limits, passages=size > 0)

    async def _output(self, source: BinaryIO, task: Task) -> tuple[bytes, int]:
        """The output of the process that read the document, and its exit code."""
        try:
            async with asyncio.timeout(task.wall_seconds + task.scan_seconds):
                if sys.platform == "win32":
                    return await _output_of_new_process(source, task, self._limits)
                server = await self._ready()
                try:
                    answer = await server.output(source, task, self._limits)
                except BaseException:
                    await server.kill()
                    raise
                self._idle.append(server)
                return answer
        except TimeoutError:
            message = f"Reading it took longer than {task.wall_seconds + task.scan_seconds:g} seconds."
            raise Unreadable("too_slow", message) from None

    async def _ready(self) -> "_ForkServer":
        while self._idle:
            server = self._idle.pop()
            if server.process.returncode is None:
                return server
            await server.kill()
        return await _ForkServer.start()


async def read_text(source: BinaryIO, kind: Format, limits: ReadingLimits) -> ReadDocument:
    """Read the text of one document in an open file; Unreadable says in one line why that failed."""
    async with DocumentReaders(limits) as readers:
        return await readers.read_open(source, kind)


class _ForkServer:
    """A process that forks a reader for one document at a time, and the socket it takes requests from."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket) -> None:
        self.process = process
        self._control = control

    @classmethod
    async def start(cls) -> "_ForkServer":
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await _started("pentad.documents.fork_server", stdin=theirs.fileno())
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, ours)

    async def output(self, source: BinaryIO, task: Task, limits: ReadingLimits) -> tuple[bytes, int]:
        """Everything the reader of a document wrote, and its exit code.

        Each document has its own pipe, so leftovers of one reader cannot be mistaken for the next document.
        """
        incoming, outgoing = os.pipe()
        try:
            try:
                socket.send_fds(self._control, [msgspec.json.encode(task) + b"\n"], [source.fileno(), outgoing])
            except OSError:
                raise _lost() from None
            finally:
                os.close(outgoing)
            os.set_blocking(incoming, False)
            output = await _collected(incoming, limits)
        finally:
            os.close(incoming)
        return output, await self._exit_code()

    async def _exit_code(self) -> int:
        code = await asyncio.get_running_loop().sock_recv(self._control, _EXIT_CODE_BYTES)
        if len(code) != _EXIT_CODE_BYTES:
            raise _lost()
        return int.from_bytes(code, "big", signed=True)

    async def kill(self) -> None:
        """Kill the server and any reader it has: they form a separate process group."""
        self._control.close()
        if sys.platform != "win32" and self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()


async def _started(
    module: str, *arguments: str, stdin: BinaryIO | int, stdout: int = asyncio.subprocess.DEVNULL
) -> asyncio.subprocess.Process:
    """Start a process that runs a module of Pentad, without this process's environment."""
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    if sys.platform == "win32":
        environment["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-X", "utf8", "-m", module, *arguments,
        stdin=stdin, stdout=stdout, stderr=asyncio.subprocess.DEVNULL, env=environment, start_new_session=True,
    )  # fmt: skip


async def _collected(pipe: int, limits: ReadingLimits) -> bytes:
    """All output, up to the limit."""
    output = bytearray()
    while True:
        try:
            some = os.read(pipe, _AT_ONCE)
        except BlockingIOError:
            await _readable(pipe)
            continue
        if not some:
            return bytes(output)
        output += some
        _check_size(output, limits)


async def _readable(pipe: int) -> None:
    """Wait until the pipe has something to read or has ended."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(pipe, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(pipe)


def _check_size(output: bytearray, limits: ReadingLimits) -> None:
    if len(output) > limits.output_bytes:
        raise Unreadable("too_large", f"Its text is larger than {limits.output_bytes:,} bytes.")


async def _output_of_new_process(source: BinaryIO, task: Task, limits: ReadingLimits) -> tuple[bytes, int]:
    """The output and exit code of a process started for one document, on systems without fork."""
    process = await _started(
        "pentad.documents.reader_process",
        msgspec.json.encode(task).decode(),
        stdin=source,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        output = bytearray()
        while process.stdout is not None and (some := await process.stdout.read(_AT_ONCE)):
            output += some
            _check_size(output, limits)
        return bytes(output), await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _checked(output: bytes, code: int, limits: ReadingLimits, *, passages: bool) -> ReadDocument:
    """The document in these messages, if they are complete and consistent."""
    head: Head | None = None
    chunks: list[Chunk] = []
    scans: list[Scan] = []
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
                case Scanned(scan):
                    scans.append(scan)
                case Done():
                    if head is not None and bool(chunks) is passages and _agree(head, chunks) and _fit(head, scans):
                        return ReadDocument(
                            head.text, head.sha256, head.title, head.pages, head.tokens, head.notes, chunks, scans
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


def _fit(head: Head, scans: list[Scan]) -> bool:
    """Whether each scan is a picture of a different page."""
    return len({scan.page for scan in scans}) == len(scans) and all(
        1 <= scan.page <= (head.pages or 0)
        and 0 <= scan.confidence <= 1
        and len(scan.picture) <= _LARGEST_PICTURE
        and (scan.picture[:4], scan.picture[8:12]) == (b"RIFF", b"WEBP")
        for scan in scans
    )


def _lost() -> Unreadable:
    return Unreadable("unreadable", "Its reader was stopped from outside; try again.")


def _ended(code: int, limits: ReadingLimits) -> Unreadable:
    """The reason the process did not finish."""
    if sys.platform != "win32" and code in (-signal.SIGXCPU, -signal.SIGKILL):
        return Unreadable("too_slow", f"Reading it took more than {limits.cpu_seconds} seconds of processor time.")
    return Unreadable("unreadable", "It crashed the reader: it is damaged or malicious.")
