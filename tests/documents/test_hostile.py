"""Damaged documents of every format: each gives text or one clear error, and nothing else."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.documents import docx, epub, html, markdown, plain_text
from pentad.documents.chunks import chunks
from pentad.documents.document import Extracted, Unreadable
from pentad.documents.sandbox import DocumentReaders, ReadingLimits
from tests.documents import papers

BODY = papers.paragraph("Water", "Heading1") + papers.paragraph("It flows. It falls.") * 4
PAGES = {"a.xhtml": "<h1>One</h1><p>First.</p>", "b.xhtml": "<p>Second &amp; last.</p>"}
MARKDOWN = b"---\ntitle: T\n---\n# A\n\n> *b* `c` [d](e)\n\n```\n# f\n```\n| g | h |\n|---|---|\n- i\n\nJ\n=\n<b>k</b>"
HTML = b"<html><head><title>T</title></head><body><h1>A</h1><p hidden>b</p><pre>c\nd</pre><table><tr><td>e<td>f</table>"
VALID: list[tuple[Callable[[bytes], Extracted], bytes]] = [
    (docx.read, papers.docx(BODY, styles=papers.heading_style("Heading1", "heading 1"))),
    (epub.read, papers.epub(PAGES)),
    (html.read, HTML),
    (markdown.read, MARKDOWN),
    (plain_text.read, "CHAPTER I\n\nWater flows.\n\nPart II\n\n\u00dcber alles. \ufb01n".encode()),
]


def perturbations(data: bytes, edits: list[tuple[int, bytes]]) -> bytes:
    for place, bytes_ in edits:
        at = place % (len(data) + 1)
        data = data[:at] + bytes_ + data[at + len(bytes_) // 2 :]
    return data


def refused(read: Callable[[bytes], Extracted], data: bytes) -> Unreadable | None:
    """Read and check a document; the refusal if there was one."""
    try:
        check(read(data))
    except Unreadable as refusal:
        return refusal
    return None


def check(document: Extracted) -> None:
    """Whatever was read can be cut and stored."""
    document.text.encode()
    assert "\x00" not in document.text
    for heading in document.headings:
        assert document.text[heading.start : heading.end] == heading.title
    for chunk in chunks(document, 64, 8):
        assert document.text[chunk.start : chunk.end].strip()


@given(
    st.sampled_from(VALID), st.lists(st.tuples(st.integers(0, 10_000), st.binary(min_size=1, max_size=6)), max_size=6)
)
def test_spoilt_files_give_text_or_one_refusal(
    valid: tuple[Callable[[bytes], Extracted], bytes], edits: list[tuple[int, bytes]]
):
    read, data = valid
    refusal = refused(read, perturbations(data, edits))
    assert refusal is None or (refusal.message and "\n" not in refusal.message)


@given(st.sampled_from([html.read, markdown.read, plain_text.read]), st.text(max_size=200))
def test_any_text_is_read(read: Callable[[bytes], Extracted], text: str):
    refusal = refused(read, text.encode("utf-8", "surrogatepass"))
    assert refusal is None or refusal.reason == "damaged"


@pytest.mark.anyio
@pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.interop)])
async def test_spoilt_pdfs_end_as_lines_and_never_as_this_process(tmp_path: Path, count: int):
    chance = random.Random(7)
    data = papers.pdf([["Water flows (down)."], [], ["Land stays."]], labels=[(0, "/S /r")], title="T")
    ends: list[str] = []
    async with DocumentReaders(ReadingLimits(wall_seconds=30)) as readers:
        for number in range(count):
            edits = [(chance.randrange(len(data)), chance.randbytes(chance.randint(1, 8))) for _ in range(number)]
            path = tmp_path / f"{number}.pdf"
            path.write_bytes(perturbations(data, edits))
            try:
                ends.append((await readers.read(path, "pdf", 64, 8)).text)
            except Unreadable as refusal:
                ends.append(refusal.message)
    assert ends[0] == "Water flows (down).\n\nLand stays."
    assert len(ends) == count
    assert all(ends)
