"""Reading in a process of its own: whatever a document does, it ends as one line."""

import asyncio
import hashlib
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from pentad.documents.document import Format, Unreadable
from pentad.documents.sandbox import ReadDocument, ReadingLimits, read_document, read_text
from tests.documents import papers
from tests.waiting import until_true

pytestmark = pytest.mark.anyio
LIMITS = ReadingLimits(wall_seconds=60, cpu_seconds=30)


async def read(folder: Path, data: bytes, kind: Format = "text", limits: ReadingLimits = LIMITS) -> ReadDocument:
    path = folder / "document"
    path.write_bytes(data)
    return await read_document(path, kind, 512, 50, limits)


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
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # a document that never ends
    try:
        task = asyncio.create_task(read_document(pipe, "text", 512, 50, LIMITS))
        await until_true(_children)
        children = _children()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not any(child in _children() for child in children)
    finally:
        os.close(held)


async def test_the_reading_process_cannot_see_the_secrets_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENTAD_SECRET_OF_THIS_TEST", "hidden")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    try:
        task = asyncio.create_task(read_document(pipe, "text", 512, 50, LIMITS))
        await until_true(_children)
        environment = Path(f"/proc/{_children()[0]}/environ")
        await until_true(lambda: b"PYTHONPATH" in environment.read_bytes())  # between fork and exec it is still ours
        assert b"hidden" not in environment.read_bytes()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        os.close(held)


async def test_personal_data_is_hinted_at_and_not_repeated(tmp_path: Path):
    text = b"Write to ann@mail.example or bo@mail.example, call +41 44 668 18 00, pay with 4111 1111 1111 1111."
    (note,) = (await read(tmp_path, text)).notes
    assert note == "may hold personal data: 2 e-mail addresses, 1 phone number, 1 card number"


def _children() -> list[str]:
    """The reading processes of this one."""
    return [
        child
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        if b"documents.child" in _command(child)
    ]


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.requirement("registers:attachments:text")
async def test_the_text_alone_is_read_from_an_open_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"# One\n\nTwo.")
        file.seek(0)
        read = await read_text(file, "markdown", ReadingLimits())
    assert (read.text, read.chunks) == ("One\n\nTwo.", [])
