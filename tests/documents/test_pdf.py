"""PDF: every page counts, printed labels are kept beside the physical ones, and sentences go over page breaks."""

import pytest

from pentad.documents.chunks import chunks
from pentad.documents.document import Extracted, Unreadable
from pentad.documents.pdf import read
from tests.documents.papers import pdf, scan


def page_of(document: Extracted, words: str) -> tuple[int, str | None]:
    at = document.text.index(words)
    page = [page for page in document.pages if page.start <= at][-1]
    return page.number, page.label


def test_blank_pages_are_counted():
    document = read(pdf([["The first page."], [], [], ["The fourth page."], [], ["The sixth page."]]))
    assert page_of(document, "The first") == (1, None)
    assert page_of(document, "The fourth") == (4, None)
    assert page_of(document, "The sixth") == (6, None)
    assert [page.number for page in document.pages] == [1, 2, 3, 4, 5, 6]
    assert document.notes == ["3 of 6 pages have no text"]


def test_printed_labels_are_kept_beside_the_physical_pages():
    pages = [["Preface here."], [], ["Chapter one here."], ["More of it here."]]
    document = read(pdf(pages, labels=[(0, "/S /r"), (2, "/S /D /St 41"), (3, "/S /D /P (A-) /St 7")], title="A Title"))
    assert page_of(document, "Preface") == (1, "i")
    assert page_of(document, "Chapter one") == (3, "41")
    assert page_of(document, "More of it") == (4, "A-7")
    assert document.title == "A Title"


def test_a_sentence_over_a_page_break_stays_one_and_has_both_pages():
    document = read(
        pdf(
            [
                ["The farmers of the valley agreed upon a rule that"],
                [],
                ["divides the water by turns. It has held since."],
            ]
        )
    )
    first, *_ = chunks(document, 14, 0)
    assert document.text[first.start : first.end] == (
        "The farmers of the valley agreed upon a rule that divides the water by turns."
    )
    assert (first.page_start, first.page_end) == (1, 3)


def test_words_parted_at_the_end_of_a_line_are_joined():
    document = read(pdf([["A commons is a shared re-", "source. Every resource has users."]]))
    assert document.text == "A commons is a shared resource. Every resource has users."


def test_brackets_accents_and_quotes_come_through():
    document = read(pdf([["Caf\u00e9 (in Z\u00fcrich) \u2013 \u201cso be it\u201d, 5\u00a0% \\ more."]]))
    assert document.text == "Caf\u00e9 (in Z\u00fcrich) \u2013 \u201cso be it\u201d, 5 % \\ more."


def test_blank_pages_are_said_to_have_no_text():
    with pytest.raises(Unreadable, match=r"No text on any of its 3 pages\.") as refused:
        read(pdf([[], [], []]))
    assert refused.value.reason == "no_text"


@pytest.mark.requirement("documents:scan:hint")
def test_a_scan_says_what_to_install():
    with pytest.raises(Unreadable, match=r"a scan: install text recognition with: pip install 'pentad\[ocr\]'"):
        read(scan([["Nothing here is text."]]))


def test_an_encrypted_file_is_said_to_be_one():
    with pytest.raises(Unreadable, match="encrypted") as refused:
        read(pdf([["Secret."]], encrypted=True))
    assert refused.value.reason == "encrypted"


@pytest.mark.parametrize("data", [b"%PDF-1.4\nnothing", b"not a pdf at all", pdf([["Text."]])[:120], b"%PDF-1.7" * 99])
def test_a_damaged_file_is_said_to_be_one(data: bytes):
    with pytest.raises(Unreadable) as refused:
        read(data)
    assert refused.value.reason == "damaged"
