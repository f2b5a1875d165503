"""Checks whether the numbers, dates and names of a statement are in the sentences it cites.

Drafts easily get these wrong, and they can be checked without understanding the text. A name must match as a whole: two
halves of two names are a third person.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.words import folded
from pentad.rooms.avatars.verification.normalization import cased_words, find_run, normalized
from pentad.rooms.avatars.verification.numbers import is_number, numbers_in
from pentad.search.text import STOP_WORDS, stem

_SENTENCE_START: Final = re.compile(r"(?:[.!?:;]\s+|[\"'(\[]|\s-\s)\Z")
_JOINING_WORDS: Final = "of the and de del della di da la le van von der den du bin ibn al el st"
_JOINING: Final = frozenset(_JOINING_WORDS.split())
_OPENING_WORDS: Final = (
    "i it he she we they you this that these those there here the a an in on at by for from with without to of as"
    " if when while where who whom whose which what why how because since although though however moreover"
    " furthermore thus therefore hence then also and but or nor so yet not no never all any both each every few"
    " many most much more some several such one two three four five six seven eight nine ten first second third"
    " next finally later earlier before after during until between among through under over within across against"
    " about according instead rather indeed perhaps maybe even only just still already often sometimes usually"
    " generally today now once people his her its our their my your me us him them would could should may might"
    " must can will do does did has have had is are was were be been being let yes please"
)
_OPENERS: Final = frozenset(_OPENING_WORDS.split())
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)[^\s<>\"]+|[^\s@<>]{1,64}@[^\s@<>]{1,200}\.\w{1,24}")
_PERSONAL: Final = frozenset(("i", "i'm", "i've", "i'd", "i'll"))


@dataclass(frozen=True, slots=True)
class Facts:
    """What the evidence lacks: numbers and names. Doubtful are words at the start of a sentence that may be names, and
    numbers that may count something else."""

    numbers: tuple[str, ...]
    names: tuple[str, ...]
    doubtful: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """Consecutive capitalised words; `certain` unless it is a single word at the start of a sentence."""

    words: tuple[str, ...]
    certain: bool

    @property
    def written(self) -> str:
        return " ".join(self.words)


def check_facts(statement: str, sources: Sequence[str], known: Iterable[str] = ()) -> Facts:
    """Check a statement against the cited texts. `known` names, of the speaker and the sources, are always allowed."""
    text = "\n".join(sources)
    names, doubtful = _unsupported_names(statement, text, known)
    numbers, uncounted = _unsupported_numbers(statement, text)
    return Facts(numbers, names, (*doubtful, *uncounted, *_repeated_numbers(statement, text)))


def addresses(statement: str, sources: Sequence[str]) -> list[str]:
    """Links and e-mail addresses that are in none of the cited texts."""
    return [found for found in _ADDRESS.findall(statement) if not any(found in source for source in sources)]


def names_in(text: str) -> list[Name]:
    """The names of a text, in order."""
    text = normalized(text)
    found: list[Name] = []
    run: list[str] = []
    certain, place, end = False, 0, 0
    for word in cased_words(text):
        at = text.index(word, place)
        place = at + len(word)
        gap = text[end:at]
        joined = not run or gap in (" ", "-", " & ", "'") or (gap == ". " and len(run[-1]) == 1)
        if run and (not joined or not (_capital(word) or word in _JOINING)):
            _add_name(found, run, certain)
            run = []
        if _capital(word) or (run and word in _JOINING):
            if not run:
                certain = at > 0 and _SENTENCE_START.search(text[max(0, at - 4) : at]) is None
            run.append(word)
        end = place
    _add_name(found, run, certain)
    return found


def _add_name(found: list[Name], run: list[str], certain: bool) -> None:
    """Add consecutive words as a name, without small words around it and without a word that only opens a sentence."""
    while run and run[-1] in _JOINING:
        run.pop()
    while run and (run[0] in _JOINING or (not certain and run[0].lower() in _OPENERS)):
        certain = certain or run[0].lower() in _OPENERS
        run = run[1:]
    if not run:
        return
    if len(run) > 1:
        found.append(Name(tuple(run), certain=True))
    elif (only := run[0]).lower() not in _OPENERS and only.lower() not in _PERSONAL:
        found.append(Name((only,), certain or (only.isupper() and len(only) > 1)))


def _capital(word: str) -> bool:
    return word[:1].isupper() or word[:1].istitle()


def _unsupported_numbers(statement: str, source: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The numbers that the source lacks, and those that it has without what they count (`the other one had 97`)."""
    theirs = numbers_in(source)
    values = {number.value for number in theirs}
    counted: dict[str, set[str]] = {}
    for number in theirs:
        if number.counts is not None:
            counted.setdefault(number.counts, set()).add(number.value)
    bare = {number.value for number in theirs if number.counts is None}
    missing: list[str] = []
    uncounted: list[str] = []
    for number in numbers_in(statement):
        elsewhere = counted.get(number.counts or "", set())
        if number.value not in values or (elsewhere and number.value not in elsewhere):
            (uncounted if number.value in bare else missing).append(number.written)
    return tuple(missing), tuple(uncounted)


def _repeated_numbers(statement: str, source: str) -> tuple[str, ...]:
    """Numbers that occur more often in the statement than in the source: one may have replaced another."""
    mine, theirs = (Counter(number.value for number in numbers_in(text)) for text in (statement, source))
    return tuple(value for value, count in mine.items() if count > 1 and count > theirs[value])


def _unsupported_names(statement: str, source: str, known: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    their_words = [_plain(word) for word in cased_words(source)]
    their_set, their_stems = set(their_words), {stem(word) for word in their_words}
    allowed = [[_plain(word) for word in cased_words(name)] for name in known]
    names: list[str] = []
    doubtful: list[str] = []
    for name in names_in(statement):
        words = [_plain(word) for word in name.words]
        if find_run(words, their_words) is not None or words in allowed:
            continue
        if len(words) > 1 and _all_parts_found(words, their_words, allowed):
            continue
        if len(words) == 1 and not name.certain and (words[0] in their_set or stem(words[0]) in their_stems):
            continue
        if len(words) == 1 and (is_number(words[0]) or words[0] in STOP_WORDS):
            continue
        (names if name.certain else doubtful).append(name.written)
    return tuple(names), tuple(doubtful)


def _all_parts_found(words: Sequence[str], theirs: list[str], allowed: Sequence[list[str]]) -> bool:
    """Whether every part of a joined name (`Hardin and Olson`) is a whole name in the source."""
    pieces: list[list[str]] = [[]]
    for word in words:
        if word in _JOINING:
            pieces.append([])
        else:
            pieces[-1].append(word)
    kept = [piece for piece in pieces if piece]
    if len(kept) < 2 and len(pieces) < 2:
        return False
    return all(find_run(piece, theirs) is not None or piece in allowed for piece in kept)


def _plain(word: str) -> str:
    return folded(word).removesuffix("'s").replace("'", "")
