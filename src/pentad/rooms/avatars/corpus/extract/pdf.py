"""Reads PDF page by page with pypdfium2. All pages are counted, including blank and unreadable ones.

Only the sandboxed process imports this module.
"""

from typing import Final

import pypdfium2 as pdfium  # pyright: ignore[reportMissingTypeStubs]  it has annotations, not everywhere

from pentad.rooms.avatars.corpus.extract.document import Extracted, Unreadable
from pentad.rooms.avatars.corpus.extract.normalization import normal
from pentad.rooms.avatars.corpus.extract.pages import RawPage, of_pages

MOST_PAGES: Final = 20_000
_PASSWORD: Final = "password"  # noqa: S105  a word in the library's message
_LONGEST_LABEL: Final = 20


def read(data: bytes) -> Extracted:
    document = _opened(data)
    try:
        count = len(document)
        if count > MOST_PAGES:
            raise Unreadable("too_large", f"It has {count:,} pages; the limit is {MOST_PAGES:,}.")
        pages = [_page(document, index) for index in range(count)]
        title = str(document.get_metadata_value("Title")).strip() or None  # pyright: ignore[reportUnknownMemberType]  likewise
    finally:
        document.close()
    notes: list[str] = []
    if broken := [page.number for page in pages if page.text is None]:
        notes.append(f"{_of(broken, count)} could not be read")
    if blank := [page.number for page in pages if page.text is not None and not page.text.strip()]:
        if len(blank) + len(broken) == count:
            raise Unreadable("no_text", f"No text on any of its {count:,} pages: a scan needs OCR first.")
        notes.append(f"{_of(blank, count)} {'has' if len(blank) == 1 else 'have'} no text")
    return of_pages(pages, title=title, notes=notes)


def _opened(data: bytes) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if _PASSWORD in str(error).lower():
            raise Unreadable("encrypted", "It is encrypted; save it without a password.") from None
        raise Unreadable("damaged", "It is damaged or not a PDF: no page can be read.") from None


def _page(document: pdfium.PdfDocument, index: int) -> RawPage:
    label: str | None = None
    try:
        named = str(document.get_page_label(index))  # pyright: ignore[reportUnknownMemberType]  likewise
        label = normal(named).strip()[:_LONGEST_LABEL] or None
        page = document[index]
        try:
            words = page.get_textpage()
            try:
                return RawPage(index + 1, words.get_text_range(), label)
            finally:
                words.close()
        finally:
            page.close()
    except (pdfium.PdfiumError, UnicodeError):
        return RawPage(index + 1, None, label)


def _of(numbers: list[int], count: int) -> str:
    """`page 3`, or how many of how many."""
    return f"page {numbers[0]}" if len(numbers) == 1 else f"{len(numbers):,} of {count:,} pages"
