"""DOCX and EPUB: read in memory, as far as limits go, and never out of the archive."""

import io
import zipfile

import pytest

from pentad.documents import archive, docx, epub
from pentad.documents.chunks import chunks
from pentad.documents.document import Extracted, Unreadable
from tests.documents import papers

LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'


def sectioned(document: Extracted) -> list[tuple[str | None, str]]:
    return [(chunk.section, document.text[chunk.start : chunk.end]) for chunk in chunks(document, 512, 50)]


def test_the_headings_of_a_word_document_come_from_its_styles():
    styles = papers.heading_style("berschrift1", "heading 1") + papers.heading_style("own", "Mine", "berschrift1")
    body = (
        papers.paragraph("Before.") + papers.paragraph("Water", "berschrift1") + papers.paragraph("It flows & falls.")
        + papers.paragraph("Land", "own") + papers.paragraph("It stays.") + papers.paragraph("Sub", "Heading2")
        + papers.paragraph("Below.")
    )  # fmt: skip
    document = docx.read(papers.docx(body, styles=styles, title="The Title"))
    assert document.title == "The Title"
    assert sectioned(document) == [
        (None, "Before."), ("Water", "It flows & falls."), ("Land", "It stays."), ("Land > Sub", "Below."),
    ]  # fmt: skip


def test_what_a_reader_of_a_word_document_does_not_see_stays_out():
    body = (
        "<w:p><w:r><w:t>Seen</w:t><w:tab/><w:t>and</w:t><w:br/><w:t>read.</w:t></w:r>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>"
        "<mc:AlternateContent><mc:Choice><w:r><w:t> Once.</w:t></w:r></mc:Choice>"
        "<mc:Fallback><w:r><w:t>Twice.</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>"
        "<w:tbl><w:tr><w:tc>" + papers.paragraph("A cell.") + "</w:tc></w:tr></w:tbl>"
    )
    assert docx.read(papers.docx(body)).text == "Seen and read. Once.\n\nA cell."


def test_a_book_is_read_in_the_order_of_its_spine():
    book = papers.epub(
        {"b.xhtml": "<h1>One</h1><p>First.</p>", "a.xhtml": "<script src='x.js'/><h1>Two</h1><p>Second.</p>"},
        title="My Book",
    )
    document = epub.read(book)
    assert document.title == "My Book"
    assert sectioned(document) == [("One", "First."), ("Two", "Second.")]


@pytest.mark.parametrize("href", ["../../etc/passwd", "/etc/passwd", "..%2f..%2fetc/passwd", "file:///etc/passwd"])
def test_a_book_that_points_out_of_itself_is_not_followed(href: str):
    book = papers.epub({"a.xhtml": "<p>Good.</p>", "evil.xhtml": "<p>Evil.</p>"}, hrefs={"evil.xhtml": href})
    document = epub.read(book)
    assert document.text == "Good."
    assert document.notes == ["a page that points out of the book was left out"]


def test_a_copy_protected_book_is_said_to_be_one():
    locked = '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>'
    book = papers.epub({"a.xhtml": "<p>x</p>"}, hrefs=None, **{"META-INF__encryption.xml": locked})
    with pytest.raises(Unreadable, match="copy protection") as refused:
        epub.read(book)
    assert refused.value.reason == "encrypted"


def test_a_book_with_protected_fonts_only_is_read():
    locked = '<encryption><CipherReference URI="OEBPS/font.otf"/></encryption>'
    book = papers.epub({"a.xhtml": "<p>Read.</p>"}, hrefs=None, **{"META-INF__encryption.xml": locked})
    assert epub.read(book).text == "Read."


def test_entities_of_a_documents_own_are_refused():
    with pytest.raises(Unreadable, match="declares entities") as refused:
        docx.read(papers.docx(papers.paragraph("x"), head=LAUGHS))
    assert refused.value.reason == "unsafe"


def test_entities_that_multiply_are_refused_before_they_do():
    layers = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(12))
    with pytest.raises(Unreadable) as refused:
        docx.read(papers.docx('<w:p w:rsidR="&e11;"/>', head=f"<!DOCTYPE d [{layers}]>"))
    assert refused.value.reason == "unsafe"


def test_a_text_box_comes_before_the_paragraph_it_is_anchored_in():
    box = "<w:r><w:pict><w:txbxContent>" + papers.paragraph("Boxed.") + "</w:txbxContent></w:pict></w:r>"
    body = f"<w:p><w:r><w:t>Around</w:t></w:r>{box}<w:r><w:t> it.</w:t></w:r></w:p>"
    assert docx.read(papers.docx(body)).text == "Boxed.\n\nAround it."


def test_a_part_that_swells_is_refused_before_it_is_whole():
    bomb = papers.zipped({"word/document.xml": b" " * (archive.MOST_UNPACKED // 4)})
    assert len(bomb) < 100_000
    with pytest.raises(Unreadable, match="unpacks to far more") as refused:
        docx.read(bomb)
    assert refused.value.reason == "unsafe"


def test_an_archive_that_lies_about_its_sizes_is_damaged_or_unsafe():
    data = bytearray(papers.zipped({"word/document.xml": b"x" * 5_000_000}))
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(Unreadable):
        docx.read(bytes(data))


def test_deep_nesting_is_refused():
    with pytest.raises(Unreadable, match="nested deeper"):
        docx.read(papers.docx("<w:tbl>" * 2000 + "</w:tbl>" * 2000))


def test_an_archive_of_countless_parts_is_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for number in range(archive.MOST_PARTS + 1):
            packed.writestr(str(number), b"")
    with pytest.raises(Unreadable, match="parts"):
        docx.read(out.getvalue())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04 and no more", "damaged"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "encrypted"),
        (papers.zipped({"other.xml": "<x/>"}), "damaged"),
        (papers.docx("<w:p>"), "damaged"),
    ],
)
def test_what_is_no_word_document_is_said_to_be_none(data: bytes, reason: str):
    with pytest.raises(Unreadable) as refused:
        docx.read(data)
    assert refused.value.reason == reason


def test_a_reference_is_resolved_within_the_archive():
    assert archive.part_at("OEBPS/content.opf", "text/a%20b.xhtml#p1") == "OEBPS/text/a b.xhtml"
    assert archive.part_at("OEBPS/content.opf", "../cover.xhtml") == "cover.xhtml"
    assert archive.part_at("OEBPS/content.opf", "../../x") is None
