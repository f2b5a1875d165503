"""Detects exchanged roles: a statement with a sentence's words, but with doer and object in each other's place.

Moving a phrase to the front keeps the order of the rest. Exchanging two words around a third reverses all three, and
so does the passive voice, where it is right. Where only names differ from the source's words, they are compared one by
one.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pentad.rooms.avatars.verification.numbers import is_number, numbers_in
from pentad.rooms.avatars.verification.wording import cased_words, normal_words
from pentad.search.text import STOP_WORDS, stem

_LEAST_IN_ORDER: Final = 0.6
_FEWEST_ALIKE: Final = 5
_DOER_WORDS: Final = 2
_AGENT: Final = re.compile(r"\b(\w+(?:ed|en|wn|ne|ght|de|ld|nd|pt|st|ut|un))\s+(?:\w+\s+)?by\b")

Token = tuple[str, int]


def exchanged(statement: str, source: str) -> bool:
    """Whether doer and object, or two numbers, may have been exchanged."""
    mine, theirs = _tokens(statement), _tokens(source)
    places = {token: place for place, token in enumerate(theirs)}
    shared = [token for token in mine if token in places]
    order = [places[token] for token in shared]
    if len(order) >= 3 and _longest_rising(order) < _LEAST_IN_ORDER * len(order):
        return True
    if _numbers_exchanged(statement, source) or _names_exchanged(statement, source):
        return True
    passive, active = _agent_verb(statement), _agent_verb(source)
    if (passive is None) == (active is None):
        return _has_reversal(order)
    verb = stem(passive or active or "")
    if any(token[0] == verb for token in shared[1:-1]):
        return not _has_reversal(order)
    return passive is not None and _doer_comes_last(statement, mine, places)


def _doer_comes_last(statement: str, mine: Sequence[Token], places: Mapping[Token, int]) -> bool:
    """Whether the doer of a passive stands behind what it is done to in the source, which has the verb in another form
    and no passive: `A was beaten by B` for `A beat B`."""
    words = " ".join(normal_words(statement))
    match = _AGENT.search(words)
    if match is None:
        return False
    before, upto = len(_tokens(words[: match.start()])), len(_tokens(words[: match.end()]))
    undergoing, doing = mine[:before], mine[upto : upto + _DOER_WORDS]
    common = {root for root, _ in undergoing} & {root for root, _ in doing}
    first = [[places[one] for one in some if one in places and one[0] not in common] for some in (undergoing, doing)]
    return all(first) and min(first[0]) < min(first[1])


def _tokens(text: str) -> list[Token]:
    """The content words, each with how often it came before."""
    seen: Counter[str] = Counter()
    found: list[Token] = []
    for word in normal_words(text):
        if word in STOP_WORDS or is_number(word):
            continue
        root = stem(word.removesuffix("'s"))
        found.append((root, seen[root]))
        seen[root] += 1
    return found


def _has_reversal(order: Sequence[int]) -> bool:
    """Whether three of the places fall: two words have changed sides around a third."""
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


def _agent_verb(text: str) -> str | None:
    """The verb of a passive with its doer: `was founded by`."""
    match = _AGENT.search(" ".join(normal_words(text)))
    return None if match is None else match[1]


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


def _masked(word: str) -> str:
    """Names all look the same."""
    return "" if word[0].isupper() else word


def _longest_rising(places: Sequence[int]) -> int:
    best: list[int] = []
    for place in places:
        at = next((index for index, value in enumerate(best) if value >= place), len(best))
        best[at : at + 1] = [place]
    return len(best)
