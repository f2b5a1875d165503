"""Checks a citation: whether the quoted words are in that source, on that page, and where they are if not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pentad.kernel.ports import Rows
from pentad.rooms.avatars import store
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.models import CorpusDocument, Pages, Passage
from pentad.rooms.avatars.verification.normalization import find_run, normal_words

_SEARCHED: Final = 20
_SEARCHED_WORDS: Final = 48

Match = Literal["exact", "wording", "moved", "not_found"]


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """Where the cited words are. `passage` and the range are set if they were found."""

    match: Match
    problems: tuple[str, ...]
    passage: Passage | None = None
    quote: str | None = None
    char_start: int | None = None
    char_end: int | None = None

    @property
    def pages(self) -> Pages | None:
        """The pages of the words themselves. Their passage may cover more."""
        if self.passage is None or self.char_start is None or self.char_end is None:
            return None
        return self.passage.pages(self.char_start - self.passage.char_start, self.char_end - self.passage.char_start)


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation as the caller gives it."""

    quote: str
    source: str | None = None
    source_id: str | None = None
    page: int | str | None = None
    char_start: int | None = None
    char_end: int | None = None
    sha256: str | None = None


async def check_citation(avatar: AvatarSnapshot, cited: Cited) -> CheckedCitation:
    """Look up cited words: at the place given, then anywhere in that source, then in the whole corpus."""
    documents = await avatar.sources()
    named = [document for document in documents if _is_named(document, cited)]
    problems = () if named or not _names_a_source(cited) else (_unknown(cited),)
    found = await avatar.database.read(lambda rows: _at_its_place(rows, named, cited))
    if found is None:
        found = await avatar.database.read(lambda rows: _in_documents(rows, named, cited))
    if found is None:
        found = await _anywhere(avatar, cited, {document.id for document in named})
    if found is None:
        return CheckedCitation("not_found", (*problems, "these words are nowhere in the corpus"))
    return CheckedCitation(
        found.match,
        (*problems, *found.problems, *_page_problem(found, cited)),
        found.passage,
        found.quote,
        found.char_start,
        found.char_end,
    )


def _names_a_source(cited: Cited) -> bool:
    return any((cited.source, cited.source_id, cited.sha256))


def _unknown(cited: Cited) -> str:
    if cited.sha256 and not (cited.source or cited.source_id):
        return "no source has a file with this hash"
    return f"there is no source {(cited.source_id or cited.source or '')[:80]!r} with these details"


def _is_named(document: CorpusDocument, cited: Cited) -> bool:
    """Whether everything the citation says about its source is true of this document."""
    if not _names_a_source(cited):
        return False
    pairs = ((cited.sha256, document.sha256), (cited.source_id, document.source_id), (cited.source, document.title))
    return all(given is None or given.casefold() == true.casefold() for given, true in pairs)


def _at_its_place(rows: Rows, named: Sequence[CorpusDocument], cited: Cited) -> CheckedCitation | None:
    start, end = cited.char_start, cited.char_end
    if start is None or end is None:
        return None
    for document in named:
        if (store.text_of(rows, document.id) or "")[start:end] == cited.quote:
            return _found(store.passages_of(rows, document.id), "exact", start, end, cited.quote)
    return None


def _in_documents(rows: Rows, named: Sequence[CorpusDocument], cited: Cited) -> CheckedCitation | None:
    """The words verbatim, or with other spelling, anywhere in the named sources."""
    placed = cited.char_start is not None and cited.char_end is not None
    for document in named:
        start = (store.text_of(rows, document.id) or "").find(cited.quote)
        if start >= 0:
            end = start + len(cited.quote)
            match: Match = "moved" if placed else "exact"
            return _found(store.passages_of(rows, document.id), match, start, end, cited.quote)
    words = normal_words(cited.quote)
    for document in named:
        for passage in store.passages_of(rows, document.id):
            if words and find_run(words, normal_words(passage.content)) is not None:
                return _near(passage, words, "wording")
    return None


async def _anywhere(avatar: AvatarSnapshot, cited: Cited, named: set[int]) -> CheckedCitation | None:
    """The words in a source other than the named one."""
    words = normal_words(cited.quote)
    if not words:
        return None
    ranking = await avatar.search(" ".join(words[:_SEARCHED_WORDS]), _SEARCHED)
    for passage in await avatar.passages([hit.id for hit in ranking.hits]):
        if passage.document not in named and find_run(words, normal_words(passage.content)) is not None:
            same: Match = "exact" if cited.quote in passage.content else "wording"
            return _near(passage, words, "moved" if _names_a_source(cited) else same)
    return None


def _found(passages: Sequence[Passage], match: Match, start: int, end: int, quote: str) -> CheckedCitation:
    """A result with the passage that contains the range, or its start."""
    holding = [one for one in passages if one.char_start <= start and end <= one.char_end]
    beginning = [one for one in passages if one.char_start <= start < one.char_end]
    passage = next(iter((*holding, *beginning)), None)
    problems = ("the words are elsewhere in the source",) if match == "moved" else ()
    return CheckedCitation(match, problems, passage, quote, start, end)


def _near(passage: Passage, words: list[str], match: Match) -> CheckedCitation:
    """The sentences of a passage that contain the words."""
    known = {"wording": ("the spelling or punctuation differs",), "moved": ("the words are in another source",)}
    problems = known.get(match, ())
    for first in range(len(passage.sentences)):
        for last in range(first, len(passage.sentences)):
            start, end = passage.sentences[first][0], passage.sentences[last][1]
            if find_run(words, normal_words(passage.content[start:end])) is not None:
                held, at = passage.content[start:end], passage.char_start
                return CheckedCitation(match, problems, passage, held, at + start, at + end)
    return CheckedCitation(match, problems, passage, passage.content, passage.char_start, passage.char_end)


def _page_problem(found: CheckedCitation, cited: Cited) -> tuple[str, ...]:
    pages = found.pages
    if cited.page is None or pages is None:
        return ()
    if pages.first is None:
        return ("the source has no pages",)
    if pages.has(cited.page):
        return ()
    return (f"it is on page {pages.first}, not on {str(cited.page)[:20]}",)
