"""Questions that ask for yes or no, and whether a sentence decides them.

A sentence decides if one of its main parts says or denies what is asked: it has the words of the question, each in its
role, and supposes nothing (`if`, `whether`, `perhaps`). The subject may be a pronoun for what came before.
"""

import re
from collections.abc import Sequence
from typing import Final

from pentad.rooms.avatars.verification.comparisons import compared_otherwise
from pentad.rooms.avatars.verification.word_order import exchanged
from pentad.rooms.avatars.verification.wording import normal_words, normalized
from pentad.search.text import query_terms, terms

_ASKS: Final = re.compile(
    r"^(?:and |but |so )?(?:is|are|was|were|do|does|did|can|could|may|might|must|should|shall|will|would|has|have|had)"
    r"(?:n't)? (?!(?:you|anybody|anyone|somebody) (?:please )?"
    r"(?:tell|explain|describe|show|say|give|help|know|remember)\b)"
)
_ASKS_MORE: Final = re.compile(r"\b(?:what|who|whom|whose|why|how|where)\b")
_PARTS: Final = re.compile(
    r";|,\s|\s(?=(?:but|though|although|whereas|yet|because|which|who|whom|whose|unless|if)\s)"
    r"|\sand\s(?=(?:the|an?|he|she|it|they|we|i|this|that|these|those|his|her|its|their|all|some|no)\b|[A-Z])"
)
"""What divides a sentence into parts with a verb each; `bread and wine` stays together."""
_DOUBTED: Final = re.compile(r"\b(?:doubt|den[yi])\w*\s+whether\b", re.IGNORECASE)
_SUPPOSING_WORDS: Final = "if whether unless suppose supposing perhaps maybe might would could should"
_SUPPOSING: Final = frozenset(_SUPPOSING_WORDS.split())
_WHOLE_WORDS: Final = "all every always never only both most each"
_WHOLE: Final = frozenset(_WHOLE_WORDS.split())
"""Words that decide a question by themselves: `some gates leak` does not tell whether all do."""
_EMPHASIS: Final = frozenset(("actual", "ever", "own", "realli", "truli"))
"""Stems that stress a question and are in no answer."""
_GOING: Final = frozenset(terms("go goes went gone travel visit journey"))
"""Stems that say alike that somebody went somewhere."""
_PRONOUN_WORDS: Final = "he she it they this these that those which who"
_PRONOUNS: Final = frozenset(_PRONOUN_WORDS.split())


def asks_yes_or_no(question: str) -> bool:
    """Whether a question can be answered with yes or no."""
    text = normalized(question).strip().lower()
    return _ASKS.match(text) is not None and _ASKS_MORE.search(text) is None


def decides(question: str, sentences: Sequence[str], headings: Sequence[str] = ()) -> bool:
    """Whether one of consecutive sentences says yes or no to the question."""
    asked = [_plain(term) for term in query_terms(question) if term not in _EMPHASIS]
    before = {term for heading in headings for term in terms(heading)}
    for sentence in sentences:
        if not sentence.rstrip().endswith("?"):
            for part in _PARTS.split(_DOUBTED.sub("doubts that", normalized(sentence))):
                if _settles(question, asked, part, before):
                    return True
                before |= set(terms(part))
        before |= set(terms(sentence))
    return False


def _settles(question: str, asked: Sequence[str], part: str, before: set[str]) -> bool:
    words, held, wanted = set(normal_words(part)), set(map(_plain, terms(part))), set(normal_words(question))
    if (_SUPPOSING & words) - wanted or (_WHOLE & wanted) - words:
        return False
    missing = [place for place, term in enumerate(asked) if term not in held]
    if missing and not _is_subject(missing, len(asked), {asked[place] for place in missing} <= before, words):
        return False
    return not exchanged(question, part) and not compared_otherwise(question, part)


def _plain(term: str) -> str:
    return "go" if term in _GOING else term


def _is_subject(missing: Sequence[int], size: int, was_named: bool, words: set[str]) -> bool:
    """Whether only the first words of the question are missing, for which a pronoun stands."""
    return (
        was_named
        and len(missing) * 2 <= size
        and list(missing) == list(range(len(missing)))
        and bool(_PRONOUNS & words)
    )
