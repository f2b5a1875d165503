"""Reads PDF page by page with pypdfium2. All pages are counted, including blank and unreadable ones.

Only the sandboxed process imports this module.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pypdfium2 as pdfium  # pyright: ignore[reportMissingTypeStubs]  it has annotations, not everywhere

from pentad.documents.document import Extracted, Page, Unreadable
from pentad.documents.normalization import normal
from pentad.documents.scans import ScannedPages
from pentad.documents.text_recognition import INSTALL, LONGEST_SIDE, TextRecognizer

if TYPE_CHECKING:
    from PIL.Image import Image

_EDGE: Final = 2
"""Lines at the top and bottom of a page that may be running heads."""
_FEWEST: Final = 3
_PAGE_NUMBER: Final = re.compile(
    r"[-\u2013\u2014\[( ]*(?:page |p\. ?)?(?:(\d{1,4})|[ivxlcdm]{1,8})(?: ?(?:of|/) ?\d{1,5})?[-\u2013\u2014\]) ]*",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"\d+")
_PARTED: Final = re.compile(r"([^\W\d_]+)-\Z")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_FIRST_WORD: Final = re.compile(r"[^\W\d_]+")
_HYPHEN_MARKS: Final = re.compile("[\x02\ufffe]\\s*|\u00ad\\s*\\n")
"""Hyphens at the end of a line."""
_LEADERS: Final = re.compile(r"(?:\. ?){5,}+")
_BULLETS: Final = "\u2022\u2023\u25aa\u25e6\u25cf*"
_STOPS: Final = '.!?:;\u201d"\u2026)'
_CAPTION: Final = re.compile(
    r"(?:fig(?:ure|\.)?|table|tab\.|plate|map|chart|box|listing|photo)\s*[\dIVXA-Z]", re.IGNORECASE
)
_LINKING_WORDS: Final = (
    "a an and as at but by for from in into is of on or than that the their to was were which who with"
)
_LINKING: Final = frozenset(_LINKING_WORDS.split())
"""Words that no sentence, title or caption ends with."""
_SHORT: Final = 0.55
_SHORT_AFTER_STOP: Final = 0.8
_AGREE: Final = 0.6


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as read from the file; `text` is None if it could not be read.

    `drawn` means that a page without text has something drawn on it, so it may be a scan.
    """

    number: int
    text: str | None
    label: str | None = None
    drawn: bool = False


def of_pages(raw: Sequence[RawPage], *, title: str | None = None, notes: Sequence[str] = ()) -> Extracted:
    """Join all pages."""
    pages = [_lines(page.text or "") for page in raw]
    labels = [page.label for page in raw]
    if not any(labels):
        labels = _printed(pages)
    pages = _without_heads(pages, labels)
    running = _TextBuilder(pages)
    starts = [running.add(lines) for lines in pages]
    after = running.length
    for index in range(len(starts) - 1, -1, -1):  # a page without text begins where the next one does
        if (start := starts[index]) is None:
            starts[index] = after
        else:
            after = start
    found = [Page(start or 0, page.number, label) for start, page, label in zip(starts, raw, labels, strict=True)]
    return Extracted(running.text(), (), found, title=title, notes=notes)


def _lines(text: str) -> list[str]:
    """The lines of a page that are not empty."""
    lines = _LEADERS.sub(" | ", normal(_HYPHEN_MARKS.sub("-\n", text))).split("\n")
    return [line for line in (" ".join(line.split()) for line in lines) if line]


def _printed(pages: Sequence[Sequence[str]]) -> list[str | None]:
    """The printed page numbers, if most pages have one and they count in step with the pages."""
    numbers = {index: number for index, lines in enumerate(pages) if (number := _number(lines)) is not None}
    none: list[str | None] = [None] * len(pages)
    if not numbers:
        return none
    ahead, agreeing = Counter(number - index for index, number in numbers.items()).most_common(1)[0]
    if agreeing < max(_FEWEST, _AGREE * sum(map(bool, pages))):
        return none
    certain = [index for index, number in numbers.items() if number - index == ahead]
    return [
        str(index + ahead) if certain[0] <= index <= certain[-1] and index + ahead > 0 else None
        for index in range(len(pages))
    ]


def _number(lines: Sequence[str]) -> int | None:
    """A number that stands alone on the last or first line."""
    for line in (*lines[-1:], *lines[:1]):
        if (match := _PAGE_NUMBER.fullmatch(line)) is not None and match[1]:
            return int(match[1])
    return None


def _without_heads(pages: Sequence[list[str]], labels: Sequence[str | None]) -> list[list[str]]:
    """The pages without page numbers and running heads.

    A running head is at the edge of most left or most right pages, or contains the page's number and recurs.
    """
    pages = [_without_number(lines) for lines in pages]
    sides = [pages[::2], pages[1::2]]
    heads = [_common(side, 0.5, _FEWEST) | _common(pages, 0.5, _FEWEST) for side in sides]
    again = _common(pages, 0.0, 2)
    return [
        _trimmed(lines, heads[index % 2], again, labels[index] or str(index + 1)) for index, lines in enumerate(pages)
    ]


def _common(pages: Sequence[list[str]], share: float, fewest: int) -> set[str]:
    """The lines (ignoring numbers) at the edges of more than a given share of the pages."""
    seen = Counter(shape for lines in pages for shape in {_shape(line) for line in (*lines[:_EDGE], *lines[-_EDGE:])})
    filled = sum(map(bool, pages))
    return {shape for shape, times in seen.items() if times >= fewest and times > share * filled}


def _without_number(lines: list[str]) -> list[str]:
    if lines and _PAGE_NUMBER.fullmatch(lines[-1]):
        lines = lines[:-1]
    if lines and _PAGE_NUMBER.fullmatch(lines[0]):
        lines = lines[1:]
    return lines


def _trimmed(lines: list[str], heads: set[str], again: set[str], label: str) -> list[str]:
    def head(line: str) -> bool:
        shape = _shape(line)
        return shape in heads or (shape in again and label in (line.split(" ", 1)[0], line.rsplit(" ", 1)[-1]))

    begin, end = 0, len(lines)
    while begin < min(_EDGE, end) and head(lines[begin]):
        begin += 1
    while end > max(begin, len(lines) - _EDGE) and head(lines[end - 1]):
        end -= 1
    return _without_number(lines[begin:end])


def _shape(line: str) -> str:
    """A line with its numbers masked, because numbers in running heads vary."""
    return _DIGITS.sub("#", line).casefold()


def _vocabulary(pages: Sequence[Sequence[str]]) -> set[str]:
    """Every unbroken word in lower case; compounds as a whole and in parts."""
    words: set[str] = set()
    parted = False
    for line in (line for lines in pages for line in lines):
        whole = _FIRST_WORD.sub("", line, count=1) if parted else line
        parted = _PARTED.search(line) is not None
        for word in _WORDS.findall(_PARTED.sub("", whole).lower()):
            words.add(word)
            words.update(word.split("-"))
    return words


class _TextBuilder:
    """Builds the text page by page."""

    def __init__(self, pages: Sequence[Sequence[str]]) -> None:
        sizes = sorted(len(line) for lines in pages for line in lines)
        self._width = sizes[len(sizes) * 4 // 5] if sizes else 0
        self._words = _vocabulary(pages)
        self._parts: list[str] = []
        self._last = ""
        self.length = 0

    def add(self, lines: Sequence[str]) -> int | None:
        """Add a page and return where it begins; None if it is empty."""
        start: int | None = None
        for line in lines:
            self._join(line, over_pages=start is None)
            start = self.length if start is None else start
            self._put(line)
            self._last = line
        return start

    def text(self) -> str:
        return "".join(self._parts)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)

    def _join(self, line: str, *, over_pages: bool) -> None:
        """Add the separator between the last line and this one."""
        last = self._last
        if not last:
            return
        parted, begun = _PARTED.search(last), _FIRST_WORD.match(line)
        if parted and begun and begun[0][0].islower():
            if not self._compound(parted[1].lower(), begun[0].lower()):
                self._parts[-1] = self._parts[-1][:-1]
                self.length -= 1
        elif self._ends(last, line, over_pages=over_pages):
            self._put("\n\n")
        else:
            self._put(" ")

    def _compound(self, first: str, second: str) -> bool:
        """Whether a hyphen belongs to the word: the compound occurs elsewhere, or both parts are words."""
        if first + second in self._words:
            return False
        return f"{first}-{second}" in self._words or (first in self._words and second in self._words)

    def _ends(self, last: str, line: str, *, over_pages: bool) -> bool:
        """Whether a paragraph or heading ends here: a short line, followed by the start of a sentence."""
        if line[0] in _BULLETS:
            return True
        if over_pages:
            return not self._goes_on(last, line)
        if line[0].islower():
            return False
        stopped = last[-1] in _STOPS
        return len(last) < (_SHORT_AFTER_STOP if stopped else _SHORT) * self._width

    def _goes_on(self, last: str, line: str) -> bool:
        """Whether a sentence continues on the next page. If in doubt, it does not: a citation names one page."""
        if last[-1] in _STOPS or _CAPTION.match(last):
            return False
        if line[0].islower():
            return True
        return len(last) >= _SHORT * self._width and (last[-1] == "," or last.rsplit(" ", 1)[-1] in _LINKING)


MOST_PAGES: Final = 20_000
_PASSWORD: Final = "password"  # noqa: S105  a word in the library's message
_LONGEST_LABEL: Final = 20


def read(data: bytes, recognizer: TextRecognizer | None = None) -> Extracted:
    """The text of a PDF. With a recognizer, scanned pages get the text that it finds."""
    document = _opened(data)
    scanned = None if recognizer is None else ScannedPages(recognizer)
    try:
        count = len(document)
        if count > MOST_PAGES:
            raise Unreadable("too_large", f"It has {count:,} pages; the limit is {MOST_PAGES:,}.")
        pages = [_page(document, index) for index in range(count)]
        if scanned is not None:
            pages = [_recognized(document, page, scanned) if page.drawn else page for page in pages]
        title = str(document.get_metadata_value("Title")).strip() or None  # pyright: ignore[reportUnknownMemberType]  likewise
    finally:
        document.close()
    notes: list[str] = []
    if broken := [page.number for page in pages if page.text is None]:
        notes.append(f"{_of(broken, count)} could not be read")
    if blank := [page.number for page in pages if page.text is not None and not page.text.strip()]:
        advice = f" (a scan: {INSTALL})" if scanned is None and any(page.drawn for page in pages) else ""
        if len(blank) + len(broken) == count:
            raise Unreadable("no_text", f"No text on any of its {count:,} pages{advice}.")
        notes.append(f"{_of(blank, count)} {'has' if len(blank) == 1 else 'have'} no text{advice}")
    found = of_pages(pages, title=title, notes=notes)
    return found if scanned is None else scanned.added_to(found, count)


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
                text = words.get_text_range()
                return RawPage(index + 1, text, label, drawn=not text.strip() and _has_objects(page))
            finally:
                words.close()
        finally:
            page.close()
    except (pdfium.PdfiumError, UnicodeError):
        return RawPage(index + 1, None, label)


def _has_objects(page: pdfium.PdfPage) -> bool:
    """Whether something is drawn on a page."""
    foreign: Any = page
    return next(foreign.get_objects(max_depth=2), None) is not None


def _recognized(document: pdfium.PdfDocument, page: RawPage, scanned: ScannedPages) -> RawPage:
    """The page with the text recognized on it."""

    def picture() -> "Image":
        opened: Any = document[page.number - 1]
        try:
            return opened.render(scale=LONGEST_SIDE / max(*opened.get_size(), 1)).to_pil()
        finally:
            opened.close()

    try:
        return replace(page, text=scanned.text(page.number, picture))
    except pdfium.PdfiumError:
        return replace(page, text=None)


def _of(numbers: list[int], count: int) -> str:
    """`page 3`, or how many of how many pages."""
    return f"page {numbers[0]}" if len(numbers) == 1 else f"{len(numbers):,} of {count:,} pages"
