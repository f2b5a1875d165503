"""Scanned pages: what is said of them, what has no time left, and readers that lie about them."""

import msgspec
import pytest

from pentad.documents.chunks import Chunk
from pentad.documents.document import Extracted, Scan, Unreadable
from pentad.documents.image import read
from pentad.documents.protocol import Done, Found, Head, Line, Scanned
from pentad.documents.sandbox import ReadDocument, ReadingLimits, _checked
from pentad.documents.scans import ScannedPages
from pentad.documents.text_recognition import TextRecognizer
from tests.documents.papers import picture

WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "
CHUNK = Chunk(0, 5, ((0, 5),), 1, None, 1, 1, None, None)


@pytest.mark.requirement("documents:scan:hint")
def test_a_picture_says_what_to_install():
    with pytest.raises(Unreadable, match=r"pip install 'pentad\[ocr\]'") as refused:
        read(picture(["A letter."]))
    assert refused.value.reason == "no_text"


def test_no_page_is_begun_when_the_time_is_up_and_the_report_says_so():
    pages = ScannedPages(TextRecognizer(0))
    assert [pages.text(number, lambda: pytest.fail("it was drawn")) for number in (3, 4)] == ["", ""]
    assert pages.added_to(Extracted("x"), 9).notes == [
        "2 of 9 pages were not recognized: that would have taken too long"
    ]


@pytest.mark.parametrize(
    ("confidence", "doubt"), [(0.97, "(confidence 0.97 or more)"), (0.62, "(confidence 0.62 or more, page 2 may have")]
)
def test_the_report_tells_the_lowest_confidence(confidence: float, doubt: str):
    pages = ScannedPages(TextRecognizer(0))
    pages.scans += [Scan(1, 0.99, WEBP), Scan(2, confidence, WEBP)]
    (note,) = pages.added_to(Extracted("x"), 2).notes
    assert note.startswith("the text of 2 pages was recognized")
    assert doubt in note


def told(*scans: Scan, pages: int | None = 2) -> ReadDocument:
    lines: list[Line] = [Head("Words", "0", None, pages, 1, []), Found(CHUNK), *map(Scanned, scans), Done()]
    output = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    return _checked(output, 0, ReadingLimits(), passages=True)


def test_scans_come_with_the_document():
    found = [Scan(1, 0.5, WEBP), Scan(2, 1.0, WEBP)]
    assert told(*found).scans == found


@pytest.mark.parametrize(
    "scans",
    [
        [Scan(3, 0.5, WEBP)],
        [Scan(0, 0.5, WEBP)],
        [Scan(1, 1.5, WEBP)],
        [Scan(1, 0.5, b"<svg onload=alert(1)>")],
        [Scan(1, 0.5, WEBP + bytes(2**20))],
        [Scan(1, 0.5, WEBP), Scan(1, 0.6, WEBP)],
    ],
    ids=["no such page", "page 0", "surer than sure", "no WebP", "too large", "twice"],
)
def test_a_reader_that_lies_about_scans_is_not_believed(scans: list[Scan]):
    with pytest.raises(Unreadable):
        told(*scans)


def test_a_format_without_pages_has_no_scans():
    with pytest.raises(Unreadable):
        told(Scan(1, 0.5, WEBP), pages=None)
