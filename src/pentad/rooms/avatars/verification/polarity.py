"""Detects opposite meanings: an added or missing negation, a reversed comparison, an extended claim.

Finding nothing proves nothing, and a finding makes a statement unsure, never false.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from pentad.search.text import stem

_NEGATION_WORDS: Final = (
    "not no never none nor neither nothing nobody nowhere without cannot hardly scarcely barely rarely seldom"
    " lack lacks lacked lacking fail fails failed failing unable refuse refuses refused deny denies denied denying"
    " absent absence false"
)
_NEGATIONS: Final = frozenset(_NEGATION_WORDS.split())
_PAIRS: Final = (
    "more less fewer", "increase decrease reduce decline", "increased decreased reduced declined", "rise fall drop",
    "rose fell dropped", "higher lower", "high low", "greater smaller", "larger smaller", "above below", "over under",
    "before after", "earlier later", "always never sometimes rarely often", "all some few none many most",
    "every some", "everyone nobody", "better worse", "best worst", "success failure", "succeed fail",
    "succeeded failed", "successful unsuccessful", "strengthen weaken", "strengthened weakened", "improve worsen",
    "improved worsened", "support oppose", "supported opposed", "agree disagree", "accept reject",
    "accepted rejected", "allow forbid", "allowed forbidden prohibited", "permit prohibit", "begin end",
    "began ended", "start stop", "started stopped", "first last", "cause prevent", "caused prevented", "gain lose",
    "gained lost", "include exclude", "included excluded", "present absent", "possible impossible", "true false",
    "right wrong", "correct incorrect", "long short", "strong weak", "easy difficult hard", "cheap expensive",
    "public private", "formal informal", "local central", "large small", "old new", "young old", "early late",
    "maximum minimum", "most least", "faster slower", "fast slow", "positive negative", "win lose", "won lost",
    "must may", "open closed", "remember forget", "north south", "east west", "inside outside", "with without",
    "born died", "birth death", "same different", "similar different", "rich poor", "warm cold", "warmer colder",
    "hot cold", "heavier lighter", "heavy light", "near far", "upper lower", "left right", "buy sell", "bought sold",
    "enter leave", "arrive leave", "love hate", "war peace", "happy unhappy", "wet dry", "northern southern",
    "eastern western", "outer inner", "top bottom", "deep shallow", "wide narrow", "thick thin", "day night",
    "summer winter", "morning evening", "brother sister", "son daughter", "father mother", "husband wife", "king queen",
)  # fmt: skip
CONDITIONS: Final = frozenset(("if", "unless", "whether", "suppose", "supposedly"))
_PREFIXES: Final = ("un", "in", "im", "ir", "il", "non", "dis")


def difference(statement: Sequence[str], source: Sequence[str]) -> str | None:
    """The evidence that two lists of lower-case words mean opposite things; None if there is none."""
    if negations(statement) % 2 != negations(source) % 2:
        return "one of them is negated"
    return find_opposites(statement, source)


def find_opposites(statement: Sequence[str], source: Sequence[str]) -> str | None:
    """A word of one list whose opposite is in the other; None if there is none."""
    mine, theirs = {stem(word) for word in statement}, {stem(word) for word in source}
    opposites = _opposites()
    for word in sorted(mine - theirs):
        if clash := sorted((opposites.get(word, set()) & theirs) - mine):
            return f"{word!r} against {clash[0]!r}"
    for word in sorted(mine ^ theirs):
        for prefix in _PREFIXES:
            bare = word.removeprefix(prefix)
            if bare != word and len(bare) > 3 and bare in (mine | theirs) and (word in mine) != (bare in mine):
                return f"{word!r} against {bare!r}"
    return None


def differ_in_negation(statement: Sequence[str], source: Sequence[str]) -> bool:
    """Whether two lists have the same words except for their negations."""
    bare = [[word for word in each if not is_negation(word)] for each in (statement, source)]
    return bare[0] == bare[1] and len(statement) != len(source)


def changes_meaning(given: Iterable[str], true: Iterable[str]) -> bool:
    """Whether replacing one of these words by the other reverses the meaning."""
    mine, theirs = list(given), list(true)
    if any(is_negation(word) for word in (*mine, *theirs)):
        return True
    return difference(mine, theirs) is not None


@lru_cache(maxsize=1)
def _opposites() -> dict[str, set[str]]:
    """The opposites of each stem. Built on first use, because it loads the stemmer."""
    found: dict[str, set[str]] = {}
    for group in _PAIRS:
        stems = {stem(word) for word in group.split()}
        for each in stems:
            found.setdefault(each, set()).update(stems - {each})
    return found


def negations(words: Sequence[str]) -> int:
    """The number of negations."""
    return sum(is_negation(word) for word in words)


def is_negation(word: str) -> bool:
    """Whether a word denies something."""
    return word in _NEGATIONS or word.endswith("n't")
