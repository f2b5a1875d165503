"""Detects statements put together from clauses that tell of different things: `A built the weir, B closed the mill`
does not say that A closed the mill.

A clause may be joined to another one that leaves its subject or its time out. It may not take the place of what the
other one says there.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from pentad.rooms.avatars.verification.clauses import clauses, content_words
from pentad.rooms.avatars.verification.numbers import is_number
from pentad.rooms.avatars.verification.verb_forms import verb_stem
from pentad.rooms.avatars.verification.word_order import active_words
from pentad.rooms.avatars.verification.wording import cased_words

_JOINING: Final = frozenset(("and", "but", "or", "then", "who", "which", "while"))
_OWN_SUBJECT: Final = frozenset(
    (
        "the",
        "a",
        "an",
        "this",
        "these",
        "those",
        "his",
        "her",
        "its",
        "their",
        "it",
        "we",
        "i",
        "my",
        "our",
        "all",
        "some",
    )
)


def mixed(claim: str, sources: Sequence[str]) -> list[str]:
    """The clauses of a claim that take something from one clause of the sources and put it into another."""
    theirs = [stems for source in sources for stems in _clauses_with_subjects(source)]
    said = set(_stems(claim))
    return [
        clause
        for place, clause in enumerate(clauses(claim))
        if _is_mixed(_stems(clause), theirs) or (place and _lost_subject(clause, theirs, said))
    ]


def _clauses_with_subjects(source: str) -> list[list[str]]:
    """The stems of each clause. One that goes on with the subject of the clause before (`and opened the gate`) gets
    its first word."""
    found: list[list[str]] = []
    subject: list[str] = []
    for clause in clauses(source):
        stems = _stems(clause)
        if _goes_on(clause):
            stems = [*subject, *stems]
        else:
            subject = [stem for stem in stems if not is_number(stem)][:1] if _opens_with_subject(clause) else []
        if stems:
            found.append(stems)
    return found


def _goes_on(clause: str) -> bool:
    """Whether a clause has no subject of its own: `and opened the gate`."""
    words = cased_words(clause)
    return words[0] in _JOINING and len(words) > 1 and not (words[1].lower() in _OWN_SUBJECT or words[1][0].isupper())


def _opens_with_subject(clause: str) -> bool:
    words = cased_words(clause)
    joined = words[0] in _JOINING
    first, second, *_ = [*words[joined:], "", ""]
    return first.lower() in _OWN_SUBJECT or (first[:1].isupper() and (joined or second[:1].isupper()))


def _is_mixed(mine: Sequence[str], theirs: Sequence[Sequence[str]]) -> bool:
    words = set(mine)
    first = max(theirs, key=lambda clause: len(words & set(clause)), default=())
    left = words - set(first)
    second = max(theirs, key=lambda clause: len(left & set(clause)), default=())
    elsewhere = left & {word for clause in theirs for word in clause}
    return (
        bool(elsewhere)
        and _replaces(mine, first, elsewhere)
        and _replaces(mine, second, words - set(second))
    )  # fmt: skip


def _replaces(mine: Sequence[str], theirs: Sequence[str], foreign: set[str]) -> bool:
    """Whether foreign words stand where the source's clause has others, or a foreign number where it has its own."""
    missing = set(theirs) - set(mine)
    if any(map(is_number, foreign)) and any(map(is_number, missing)):
        return True
    return any(
        change == "replace" and foreign & set(mine[start:end]) and missing & set(theirs[other_start:other_end])
        for change, start, end, other_start, other_end in SequenceMatcher(None, mine, theirs, False).get_opcodes()
    )


def _lost_subject(clause: str, theirs: Sequence[Sequence[str]], said: set[str]) -> bool:
    """Whether a joined clause without a subject gets that of the clause before, though the source names another."""
    if not _goes_on(clause):
        return False
    mine = _stems(clause)
    source = max(theirs, key=lambda other: len(set(mine) & set(other)), default=())
    common = [place for place, word in enumerate(source) if word in mine]
    return bool(common and common[0]) and not said & set(source[: common[0]])


def _stems(clause: str) -> list[str]:
    return [verb_stem(word.removesuffix("'s")) for word in content_words(active_words(clause))]
