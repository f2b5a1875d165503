"""Reading in a process of its own: whatever a document does, it ends as one line."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pentad.documents.document import Format, Unreadable
from pentad.documents.sandbox import DocumentReaders, ReadDocument, ReadingLimits, read_text
from tests.documents import papers
from tests.waiting import until_true

pytestmark = pytest.mark.anyio
LIMITS = ReadingLimits(wall_seconds=60, cpu_seconds=30)


async def read(folder: Path, data: bytes, kind: Format = "text", limits: ReadingLimits = LIMITS) -> ReadDocument:
    path = folder / "document"
    path.write_bytes(data)
    return await read_file(path, kind, limits)


async def read_file(path: Path, kind: Format = "text", limits: ReadingLimits = LIMITS) -> ReadDocument:
    async with DocumentReaders(limits) as readers:
        return await readers.read(path, kind, 512, 50)


@contextmanager
def endless(folder: Path, name: str = "pipe") -> Generator[Path]:
    """A document that never ends."""
    pipe = folder / name
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    try:
        yield pipe
    finally:
        os.close(held)


async def refusal(folder: Path, data: bytes, kind: Format = "text", limits: ReadingLimits = LIMITS) -> Unreadable:
    with pytest.raises(Unreadable) as refused:
        await read(folder, data, kind, limits)
    assert "\n" not in refused.value.message
    assert str(folder) not in refused.value.message
    return refused.value


async def test_a_document_comes_back_with_its_passages_and_the_hash_of_its_bytes(tmp_path: Path):
    data = papers.pdf([["The first page."], [], ["The third page."]], title="Pages")
    document = await read(tmp_path, data, "pdf")
    assert (document.title, document.pages, document.notes) == ("Pages", 3, ["page 2 has no text"])
    assert document.sha256 == hashlib.sha256(data).hexdigest()
    (chunk,) = document.chunks
    assert document.text[chunk.start : chunk.end] == "The first page.\n\nThe third page."
    assert (chunk.page_start, chunk.page_end) == (1, 3)


async def test_documents_without_pages_have_none(tmp_path: Path):
    document = await read(tmp_path, b"# Water\n\nIt flows.", "markdown")
    assert document.pages is None
    assert [(chunk.section, chunk.page_start) for chunk in document.chunks] == [("Water", None)]


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"", "text", "empty"), (b" \n\t ", "markdown", "empty"), (b"<script>x</script>", "html", "no_text"),
        (b"junk", "pdf", "damaged"), (b"junk", "docx", "damaged"), (b"junk", "epub", "damaged"),
        (papers.pdf([[], []]), "pdf", "no_text"), (papers.pdf([["x"]], encrypted=True), "pdf", "encrypted"),
    ],
)  # fmt: skip
async def test_what_gives_no_text_says_why(tmp_path: Path, data: bytes, kind: Format, reason: str):
    assert (await refusal(tmp_path, data, kind)).reason == reason


async def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path):
    assert (await refusal(tmp_path, b"word " * 100, limits=replace(LIMITS, file_bytes=100))).reason == "too_large"


async def test_a_text_beyond_the_limit_is_refused(tmp_path: Path):
    assert (await refusal(tmp_path, b"word " * 100, limits=replace(LIMITS, text_characters=99))).reason == "too_large"


async def test_output_beyond_the_limit_is_not_taken(tmp_path: Path):
    assert (await refusal(tmp_path, b"Word. " * 9000, limits=replace(LIMITS, output_bytes=999))).reason == "too_large"


async def test_memory_is_limited(tmp_path: Path):
    limits = replace(LIMITS, memory_bytes=160 * 1024 * 1024)
    refused = await refusal(tmp_path, b"A sentence of some words. " * 2_000_000, limits=limits)
    assert refused.reason in ("too_large", "unreadable")


async def test_processor_time_is_limited(tmp_path: Path):
    refused = await refusal(tmp_path, b"A sentence. " * 2_000_000, limits=replace(LIMITS, cpu_seconds=1))
    assert refused.reason == "too_slow"


async def test_waiting_is_limited(tmp_path: Path):
    refused = await refusal(tmp_path, b"A sentence. " * 2_000_000, limits=replace(LIMITS, wall_seconds=0.2))
    assert refused.reason == "too_slow"


async def test_an_ingest_that_is_given_up_leaves_no_process_behind(tmp_path: Path):
    with endless(tmp_path) as pipe:
        task = asyncio.create_task(read_file(pipe))
        await until_true(_readers)
        left = [*_servers(), *_readers()]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_true(lambda: not any(map(_lives, left)))


async def test_the_reading_process_cannot_see_the_secrets_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENTAD_SECRET_OF_THIS_TEST", "hidden")
    with endless(tmp_path) as pipe:
        task = asyncio.create_task(read_file(pipe))
        await until_true(_readers)
        for process in (*_servers(), *_readers()):
            environment = Path(f"/proc/{process}/environ").read_bytes()
            assert b"PYTHONPATH" in environment
            assert b"hidden" not in environment
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.requirement("avatars:ingest:isolation")
async def test_each_document_has_a_process_of_its_own_forked_from_one_that_stays(tmp_path: Path):
    seen: list[tuple[list[str], list[str]]] = []
    async with DocumentReaders(LIMITS) as readers:
        for number in range(2):
            pipe = tmp_path / f"pipe{number}"
            os.mkfifo(pipe)
            held = os.open(pipe, os.O_RDWR)
            task = asyncio.create_task(readers.read(pipe, "text", 512, 50))
            await until_true(_readers)
            seen.append((_servers(), _readers()))
            os.write(held, f"Document {number}.".encode())
            os.close(held)
            assert (await task).text == f"Document {number}."
    (server, first), (same, second) = seen
    assert server == same
    assert first != second
    assert not any(map(_lives, server))


@pytest.mark.requirement("avatars:ingest:isolation")
async def test_a_document_that_hangs_or_crashes_its_reader_ends_alone(tmp_path: Path):
    good = tmp_path / "good.txt"
    good.write_bytes(b"Water flows.")
    slow = tmp_path / "slow.txt"
    slow.write_bytes(b"A sentence. " * 2_000_000)
    async with DocumentReaders(replace(LIMITS, cpu_seconds=1)) as readers:
        with endless(tmp_path) as pipe:
            hanging = asyncio.create_task(readers.read(pipe, "text", 512, 50))
            await until_true(_readers)
            (hung,) = _readers()
            assert (await readers.read(good, "text", 512, 50)).text == "Water flows."
            with pytest.raises(Unreadable, match="processor time"):
                await readers.read(slow, "text", 512, 50)
            assert (await readers.read(good, "text", 512, 50)).text == "Water flows."
            os.kill(int(hung), signal.SIGSEGV)
            with pytest.raises(Unreadable, match="crashed the reader"):
                await hanging
        assert (await readers.read(good, "text", 512, 50)).text == "Water flows."


@pytest.mark.requirement("avatars:ingest:isolation")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no seccomp")
def test_a_reader_has_no_network_and_starts_no_process():
    program = """
import os, signal, socket, threading
from pentad.documents.confinement import confine
from pentad.documents.protocol import Task
confine(Task("text", 512, 50, 2**30, 30, 30.0, 2**20, 2**20))
thread_signal = lambda: signal.pthread_kill(threading.get_ident(), 0)
kill, run = lambda: os.kill(os.getppid(), 0), lambda: os.execv("/bin/true", ["true"])
for attempt in (socket.socket, os.fork, run, kill, thread_signal):
    try:
        attempt()
    except PermissionError:
        print("refused")
thread = threading.Thread(target=print, args=("threads run",))
thread.start()
thread.join()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.splitlines() == ["refused"] * 5 + ["threads run"]


async def test_personal_data_is_hinted_at_and_not_repeated(tmp_path: Path):
    text = b"Write to ann@mail.example or bo@mail.example, call +41 44 668 18 00, pay with 4111 1111 1111 1111."
    (note,) = (await read(tmp_path, text)).notes
    assert note == "may hold personal data: 2 e-mail addresses, 1 phone number, 1 card number"


def _servers() -> list[str]:
    """The processes of this one that fork readers."""
    return [one for one in _children(str(os.getpid())) if b"documents.fork_server" in _command(one)]


def _readers() -> list[str]:
    """The processes that read documents."""
    return [reader for server in _servers() for reader in _children(server)]


def _children(process: str) -> list[str]:
    try:
        return Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except FileNotFoundError:
        return []


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def _lives(process: str) -> bool:
    """Whether it runs: one that nobody has waited for yet has no command any more."""
    return bool(_command(process))


@pytest.mark.requirement("registers:attachments:text")
async def test_the_text_alone_is_read_from_an_open_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"# One\n\nTwo.")
        file.seek(0)
        read = await read_text(file, "markdown", ReadingLimits())
    assert (read.text, read.chunks) == ("One\n\nTwo.", [])
