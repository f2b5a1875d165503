"""Detects exchanged roles: a statement with the words of a sentence, but with doer and object exchanged.

Moving a phrase to the front keeps the order of the rest. Exchanging two words around a third reverses all three. A
passive that names its doer is first put in the order of the active voice. Where only names differ from the source's
words, they are compared one by one, and so are `he` and `she` among the same words.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Final

from pentad.rooms.avatars.verification.clauses import clauses
from pentad.rooms.avatars.verification.normalization import cased_words, normal_words
from pentad.rooms.avatars.verification.numbers import is_number, numbers_in
from pentad.rooms.avatars.verification.verb_forms import verb_stem
from pentad.search.text import STOP_WORDS

_LEAST_IN_ORDER: Final = 0.6
_FEWEST_ALIKE: Final = 5
_PASSIVE: Final = re.compile(
    r"^(?P<undergoer>.*?)\b(?:(?:am|is|are|was|were|been|being|be)\s+(?:\w+ly\s+)?(?P<verb>\w+)(?P<between>(?:\s+\w+){0,4}?)"
    r"|(?P<participle>\w+(?:ed|en|wn|ne|ght|de|ld|nd|pt|st|ut|un)))"
    r"\s+by\s+(?P<doer>.+?)(?P<rest>(?:\s+(?:in|on|at|after|before|to|for|from|with|during|when|while|as|because|that|which"
    r"|who|until|under|near|into)\b.*)?)$"
)
_GENDERS: Final = {
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
}
_HANGING_WORDS: Final = "because after before until unless if although though when while"
_HANGING: Final = frozenset(_HANGING_WORDS.split())
_MANNER: Final = re.compile(r"^(?:hand|means|way|mail|post|chance|accident|default|then|now|noon|night|\w+ing|\d.*)\b")

Token = tuple[str, int]


def roles_exchanged(statement: str, source: str) -> bool:
    """Whether doer and object, or two numbers, may have been exchanged."""
    mine, theirs = _tokens(statement), _tokens(source)
    places = {token: place for place, token in enumerate(theirs)}
    shared = [token for token in mine if token in places]
    order = [places[token] for token in shared]
    if len(order) >= 3 and _longest_rising(order) < _LEAST_IN_ORDER * len(order):
        return not _is_moved_clause(order, source) or _reasons_exchanged(statement, source)
    return (
        _has_reversal(order)
        or _numbers_exchanged(statement, source)
        or _names_exchanged(statement, source)
        or _pronouns_exchanged(statement, source)
        or _reasons_exchanged(statement, source)
    )


def _is_moved_clause(order: Sequence[int], source: str) -> bool:
    """Whether all that differs is that a clause of the source stands before another one: `B, if A` for `If A, B`."""
    turn = next(place for place in range(1, len(order)) if order[place] < order[place - 1])
    ends = list(accumulate(len(_tokens(clause)) for clause in clauses(source)))
    return (
        [*order[turn:], *order[:turn]] == sorted(order)
        and any(order[-1] < end <= order[0] for end in ends)
    )  # fmt: skip


def active_words(text: str) -> list[str]:
    """The words of a text, clause by clause, with passives in the order of the active voice: doer, verb, undergoer."""
    return [word for clause in clauses(text) for word in _active(" ".join(normal_words(clause))).split()]


def _active(clause: str) -> str:
    match = _PASSIVE.match(clause)
    if match is None or _MANNER.match(match["doer"]):
        return clause
    verb = match["verb"] or match["participle"]
    return f"{match['doer']} {verb} {match['undergoer']} {match['between'] or ''} {match['rest']}"


def _tokens(text: str) -> list[Token]:
    """The content words, each with how often it came before."""
    seen: Counter[str] = Counter()
    found: list[Token] = []
    for word in active_words(text):
        if word in STOP_WORDS or is_number(word):
            continue
        root = verb_stem(word.removesuffix("'s"))
        found.append((root, seen[root]))
        seen[root] += 1
    return found


def _has_reversal(order: Sequence[int]) -> bool:
    """Whether three of the places are in descending order: two words have changed sides around a third."""
    lowest_after: list[int] = []
    lowest = max(order, default=0) + 1
    for place in reversed(order):
        lowest_after.append(lowest)
        lowest = min(lowest, place)
    lowest_after.reverse()
    highest = -1
    for place, after in zip(order, lowest_after, strict=True):
        if highest > place > after:
            return True
        highest = max(highest, place)
    return False


def _numbers_exchanged(statement: str, source: str) -> bool:
    """Whether two numbers that count nothing, such as years, have changed places."""
    theirs = [number.value for number in numbers_in(source) if number.counts is None]
    mine = [number.value for number in numbers_in(statement) if number.counts is None]
    if len(mine) < 2 or max(Counter(theirs).values(), default=1) > 1 or not set(mine) <= set(theirs):
        return False
    places = [theirs.index(value) for value in mine]
    return places != sorted(places)


def _names_exchanged(statement: str, source: str) -> bool:
    """Whether a statement repeats the source word for word, except for names, which are in other places.

    Two names beside each other, or of one letter, leave no reversal among the content words.
    """
    mine, theirs = cased_words(statement), cased_words(source)
    size = len(mine)
    if size < _FEWEST_ALIKE:
        return False
    masked, others = [_masked(word) for word in mine], [_masked(word) for word in theirs]
    alike = [place for place in range(len(theirs) - size + 1) if others[place + 1 : place + size] == masked[1:]]
    said = [word.lower() for word in mine]
    return bool(alike) and not any([word.lower() for word in theirs[at : at + size]] == said for at in alike)


def _pronouns_exchanged(statement: str, source: str) -> bool:
    """Whether `he` stands beside the words that `she` has in the source, or the other way round."""
    mine, theirs = active_words(statement), active_words(source)
    masked = [["" if word in _GENDERS else word for word in words] for words in (mine, theirs)]
    return any(
        block.size > 1
        and any(
            _GENDERS.get(word) != _GENDERS.get(other)
            for word, other in zip(
                mine[block.a : block.a + block.size], theirs[block.b : block.b + block.size], strict=True
            )
        )
        for block in SequenceMatcher(None, *masked, autojunk=False).get_matching_blocks()
    )


def _reasons_exchanged(statement: str, source: str) -> bool:
    """Whether what follows `because` (or `after`, `if` and others) comes before it in the source."""
    mine, theirs = _hanging(statement), _hanging(source)
    whole = {root for root, _ in _tokens(source)}
    return any(
        len(words & (whole - theirs[opening])) > len(words & theirs[opening])
        for opening, words in mine.items()
        if opening in theirs
    )


def _hanging(text: str) -> dict[str, set[str]]:
    """The stems of each clause that opens with `because` or the like."""
    split = [(normal_words(clause)[:1], clause) for clause in clauses(text)]
    return {first[0]: {root for root, _ in _tokens(clause)} for first, clause in split if set(first) & _HANGING}


def _masked(word: str) -> str:
    """All names look the same."""
    return "" if word[0].isupper() else word


def _longest_rising(places: Sequence[int]) -> int:
    best: list[int] = []
    for place in places:
        at = next((index for index, value in enumerate(best) if value >= place), len(best))
        best[at : at + 1] = [place]
    return len(best)
