"""Checks what others say in an avatar's name: whole drafts, statement by statement, and single citations.

Nothing is taken on trust: passages are looked up, quotes are cut from the source, and what nobody wrote is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from pentad.kernel.ports import Rows
from pentad.rooms.avatars import store
from pentad.rooms.avatars.answers import Citation, CitationList, runs
from pentad.rooms.avatars.models import CorpusDocument, Pages, Passage
from pentad.rooms.avatars.opened import OpenedAvatar
from pentad.rooms.avatars.rendering import rendered
from pentad.rooms.avatars.retrieval import check_given
from pentad.rooms.avatars.verification.aboutness import coverage, rarity
from pentad.rooms.avatars.verification.drafts import Draft, Statement, from_json, from_text
from pentad.rooms.avatars.verification.evidence import Sentence, numbered
from pentad.rooms.avatars.verification.verify import Checked, Verifier
from pentad.rooms.avatars.verification.wording import find_run, normal_words
from pentad.search.text import terms

if TYPE_CHECKING:
    from pentad.rooms.avatars.likeness import Likeness

_OF_EACH: Final = 4
_SEARCHED: Final = 20
_SEARCHED_WORDS: Final = 48

Match = Literal["exact", "wording", "moved", "not_found"]


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """A draft after all checks: what may be said, with its citations, and the verdict on each statement."""

    response: str
    citations: Sequence[Citation]
    statements: Sequence[tuple[Statement, Checked, tuple[int, ...]]]
    """Each as it was given, as it was found to be, and the numbers of its citations."""
    unverified: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """Where cited words really stand. `passage` and the range are there if they were found."""

    match: Match
    problems: tuple[str, ...]
    passage: Passage | None = None
    quote: str | None = None
    char_start: int | None = None
    char_end: int | None = None

    @property
    def pages(self) -> Pages | None:
        """The pages of the words themselves; their passage may go over more."""
        if self.passage is None or self.char_start is None or self.char_end is None:
            return None
        return self.passage.pages(self.char_start - self.passage.char_start, self.char_end - self.passage.char_start)


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation as somebody gives it."""

    quote: str
    source: str | None = None
    source_id: str | None = None
    page: int | str | None = None
    char_start: int | None = None
    char_end: int | None = None
    sha256: str | None = None


async def check_draft(
    avatar: OpenedAvatar, draft: str | dict[str, Any], passages: Sequence[Any] | None, likeness: "Likeness"
) -> CheckedDraft:
    """Check each statement against the passages handed in, or against what the corpus has on it."""
    read = from_text(draft) if isinstance(draft, str) else from_json(draft)
    unverified: tuple[int, ...] = ()
    if passages:
        given = await check_given(avatar, passages)
        held, unverified = list(given.passages), given.unverified
    else:
        held = await _looked_for(avatar, read)
    evidence = numbered(held)
    verifier = Verifier(evidence, avatar.persona.name, likeness, avatar.calibration.thresholds)
    checked = await verifier.check(_with_evidence(read, evidence))
    said, citations, _ = rendered(avatar.persona, checked)
    listed = [
        (statement, each, _cited(each, citations)) for statement, each in zip(read.statements, checked, strict=True)
    ]
    return CheckedDraft(" ".join(one.text for one in said), citations.all(), listed, unverified)


async def _looked_for(avatar: OpenedAvatar, draft: Draft) -> list[Passage]:
    """The passages nearest to each statement, each once."""
    ids: dict[int, None] = {}
    for statement in draft.statements:
        ranking = await avatar.search(statement.text, _OF_EACH)
        ids.update(dict.fromkeys(hit.id for hit in ranking.hits))
    return list(await avatar.passages(list(ids)))


def _with_evidence(draft: Draft, evidence: Sequence[Sentence]) -> Draft:
    """The draft with the nearest sentence for each statement that cites nothing: it is held against that."""
    weights = rarity(terms(sentence.text) for sentence in evidence)

    def supported(statement: Statement) -> Statement:
        if statement.support or not evidence:
            return statement
        nearest = max(evidence, key=lambda one: (coverage(statement.text, (one.text,), weights), -one.number))
        return replace(statement, support=(nearest.name,))

    return replace(draft, statements=tuple(supported(statement) for statement in draft.statements))


def _cited(checked: Checked, citations: CitationList) -> tuple[int, ...]:
    """The numbers of the citations a statement ended up with; they are there already."""
    if checked.verdict == "unsupported" or not checked.sentences:
        return ()
    found = runs(checked.sentences)
    return tuple(dict.fromkeys(citations.cite(run) for run in (found[:1] if checked.verdict == "unsure" else found)))


async def check_citation(avatar: OpenedAvatar, cited: Cited) -> CheckedCitation:
    """Look cited words up: at the place that is named, then anywhere in that source, then anywhere at all."""
    documents = await avatar.sources()
    named = [document for document in documents if _is_named(document, cited)]
    problems = () if named or not _names_one(cited) else (_unknown(cited),)
    found = await avatar.database.read(lambda rows: _at_its_place(rows, named, cited))
    if found is None:
        found = await avatar.database.read(lambda rows: _in_documents(rows, named, cited))
    if found is None:
        found = await _anywhere(avatar, cited, {document.id for document in named})
    if found is None:
        return CheckedCitation("not_found", (*problems, "these words stand nowhere in the corpus"))
    return CheckedCitation(
        found.match,
        (*problems, *found.problems, *_page_problem(found, cited)),
        found.passage,
        found.quote,
        found.char_start,
        found.char_end,
    )


def _names_one(cited: Cited) -> bool:
    return any((cited.source, cited.source_id, cited.sha256))


def _unknown(cited: Cited) -> str:
    if cited.sha256 and not (cited.source or cited.source_id):
        return "no source has a file with this hash"
    return f"there is no source {(cited.source_id or cited.source or '')[:80]!r} with these details"


def _is_named(document: CorpusDocument, cited: Cited) -> bool:
    """Whether everything a citation says of its source is so."""
    if not _names_one(cited):
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
    """The words as they are, else the same words in other spelling, anywhere in the named sources."""
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


async def _anywhere(avatar: OpenedAvatar, cited: Cited, named: set[int]) -> CheckedCitation | None:
    """The words in another source than the one that is named."""
    words = normal_words(cited.quote)
    if not words:
        return None
    ranking = await avatar.search(" ".join(words[:_SEARCHED_WORDS]), _SEARCHED)
    for passage in await avatar.passages([hit.id for hit in ranking.hits]):
        if passage.document not in named and find_run(words, normal_words(passage.content)) is not None:
            same: Match = "exact" if cited.quote in passage.content else "wording"
            return _near(passage, words, "moved" if _names_one(cited) else same)
    return None


def _found(passages: Sequence[Passage], match: Match, start: int, end: int, quote: str) -> CheckedCitation:
    """With the passage that holds the range, or where it begins."""
    holding = [one for one in passages if one.char_start <= start and end <= one.char_end]
    beginning = [one for one in passages if one.char_start <= start < one.char_end]
    passage = next(iter((*holding, *beginning)), None)
    problems = ("the words stand elsewhere in the source",) if match == "moved" else ()
    return CheckedCitation(match, problems, passage, quote, start, end)


def _near(passage: Passage, words: list[str], match: Match) -> CheckedCitation:
    """The sentences of a passage in which the words stand."""
    known = {"wording": ("the spelling or the marks differ",), "moved": ("the words stand in another source",)}
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
