"""Cuts a document into passages: runs of whole sentences, up to the size set in the avatar's configuration.

A passage never crosses a heading, and none contains another. Each passage has windows short enough for an
embedding model; the vector of a long passage would cover only its first half.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.documents.document import Extracted, Heading, Page
from pentad.documents.sentences import Span, sentences
from pentad.documents.tokens import tokens

WINDOW: Final = 200
"""Estimated tokens of a window; fits models that read 256."""

SECTION_JOINT: Final = " > "

PageRange = tuple[int | None, int | None, str | None, str | None]
"""The first and last page, by number and by printed label."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that is not stored yet. `sentences` are ranges of the document's text."""

    start: int
    end: int
    sentences: tuple[Span, ...]
    tokens: int
    section: str | None
    page_start: int | None
    page_end: int | None
    printed_start: str | None
    printed_end: str | None
    pages: tuple[PageRange, ...] = ()
    """The pages of each sentence, if the passage crosses a page break."""


@dataclass(frozen=True, slots=True)
class _Sized:
    span: Span
    size: int


def chunks(document: Extracted, size: int, overlap: int) -> list[Chunk]:
    """The passages of a document, in order."""
    pages = _Pages(document.pages)
    return [
        Chunk(run[0].span[0], run[-1].span[1], tuple(one.span for one in run), sum(one.size for one in run), section,
              *pages.range(run[0].span[0], run[-1].span[1]), pages.of_each(run))
        for section, begin, end in sections(document)
        for run in _packed(_sized(document.text, begin, end), size, overlap)
    ]  # fmt: skip


def windows(content: str, spans: Sequence[Span]) -> list[str]:
    """The texts to embed for a passage: all of it if it is short, else parts that overlap by a sentence."""
    sized = [_Sized(span, tokens(content[span[0] : span[1]])) for span in spans]
    if sum(one.size for one in sized) <= WINDOW:
        return [content]
    return [content[run[0].span[0] : run[-1].span[1]] for run in _packed(sized, WINDOW, 1)]


def sections(document: Extracted) -> Iterator[tuple[str | None, int, int]]:
    """The text between headings, each part with the path of headings above it.

    Headings are in the path, not in the text. A heading with no text below it becomes text.
    """
    path: list[Heading] = []
    begin = 0
    for place, heading in enumerate(document.headings):
        if heading.start > begin:
            yield _path(path), begin, heading.start
        path = [above for above in path if above.level < heading.level]
        following = document.headings[place + 1] if place + 1 < len(document.headings) else None
        end = following.start if following else len(document.text)
        if not document.text[heading.end : end].strip() and (following is None or following.level <= heading.level):
            yield _path(path), heading.start, heading.end
        path.append(heading)
        begin = heading.end
    if begin < len(document.text):
        yield _path(path), begin, len(document.text)


def _path(headings: Sequence[Heading]) -> str | None:
    return SECTION_JOINT.join(heading.title for heading in headings) or None


def _sized(text: str, begin: int, end: int) -> list[_Sized]:
    return [
        _Sized((begin + start, begin + stop), tokens(text[begin + start : begin + stop]))
        for start, stop in sentences(text[begin:end])
    ]


def _packed(found: Sequence[_Sized], size: int, overlap: int) -> Iterator[Sequence[_Sized]]:
    """Pack sentences into runs; each run after the first begins with the last sentences of the one before.

    Every run ends after the previous one, so shared sentences never form a run on their own.
    """
    begin = end = 0
    while end < len(found):
        held = sum(one.size for one in found[begin:end])
        while begin < end and held + found[end].size > size:  # the overlap must leave room for something new
            held -= found[begin].size
            begin += 1
        while end < len(found) and (begin == end or held + found[end].size <= size):
            held += found[end].size
            end += 1
        yield found[begin:end]
        begin = _step_back(found, begin, end, overlap)


def _step_back(found: Sequence[_Sized], begin: int, end: int, overlap: int) -> int:
    """The start of the next run: far enough back to share `overlap` tokens, but after the start of this one."""
    at, shared = end, 0
    while shared < overlap and at - 1 > begin:
        at -= 1
        shared += found[at].size
    return at


class _Pages:
    """Finds the pages of character ranges."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = pages
        self._starts = [page.start for page in pages]

    def of_each(self, run: Sequence[_Sized]) -> tuple[PageRange, ...]:
        """The pages of each sentence of a run; empty if the run is on one page."""
        first, last, _, _ = self.range(run[0].span[0], run[-1].span[1])
        return () if first == last else tuple(self.range(*one.span) for one in run)

    def range(self, start: int, end: int) -> PageRange:
        """The pages of a range."""
        if not self._pages:
            return None, None, None, None
        first, last = self._at(start), self._at(end - 1)
        return first.number, last.number, first.label, last.label

    def _at(self, offset: int) -> Page:
        return self._pages[max(0, bisect_right(self._starts, offset) - 1)]
