"""A question in a conversation: what it refers to, found without a language model.

Only a question that points back (`and why did they?`) takes words from before, rare ones, from the last turns first.
A question that stands alone is left alone: words carried into it would make it about something else.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.search.text import STOP_WORDS, query_terms, stem, words

DECAY: Final = 0.6
MOST_CARRIED: Final = 6
_TURNS: Final = 6
_LEAST: Final = 0.2
_POINTING_WORDS: Final = (
    "it its this that these those they them their theirs he she him her his hers such same former latter one ones"
)
_POINTING: Final = frozenset(_POINTING_WORDS.split())
_LINKING: Final = re.compile(
    r"^\s*(?:and|but|so|or|then|also|what about|how about|why|how so|how come|tell me more|go on|more|really"
    r"|for example|such as|in what way|what else|anything else|can you elaborate|elaborate|please explain|explain)\b",
    re.IGNORECASE,
)
_GENERAL_WORDS: Final = (
    "say said tell told think thought know mean means thing things people way ways much many more about please"
    " explain question answer yes thanks thank ok okay really very also well good great like just make made get go"
    " see want need use used example interesting point agree opinion view work works time something anything"
    " everything hello hi write writes wrote written passage corpus closest cannot whether source find nothing"
)
_GENERAL: Final = frozenset(_GENERAL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said before."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A question with what it refers to. `own` are the stems it has of its own."""

    query: str
    carried: tuple[str, ...]
    own: tuple[str, ...]


def telling_words(text: str) -> list[str]:
    """The words of a text that say what it is about, each once."""
    return list(
        dict.fromkeys(
            word for word in words(text) if word not in STOP_WORDS and word not in _GENERAL and word not in _POINTING
        )
    )


def points_back(question: str) -> bool:
    """Whether a question needs what was said before to be understood."""
    found = words(question)
    if not telling_words(question):
        return True
    if _LINKING.match(question) and len(telling_words(question)) <= 3:
        return True
    return any(word in _POINTING for word in found) and len(telling_words(question)) <= 4


def rewritten(question: str, turns: Sequence[Turn], idf: Mapping[str, float] | None = None) -> Rewritten:
    """The question for the search: as it is, or with rare words of the last turns."""
    own = tuple(stem(word) for word in telling_words(question))
    if not turns or not points_back(question):
        return Rewritten(question, (), own)
    weights: dict[str, float] = {}
    for back, turn in enumerate(reversed(turns[-_TURNS:])):
        for word in telling_words(turn.content):
            if stem(word) not in own:
                rare = 1.0 if idf is None else idf.get(stem(word), 0.0)
                asked = 1.5 if turn.content.rstrip().endswith("?") else 1.0
                weights[word] = weights.get(word, 0.0) + DECAY**back * rare * asked * _length(word)
    top = max(weights.values(), default=0.0)
    ranked = sorted(weights, key=lambda word: (-weights[word], word))
    carried = tuple(word for word in ranked if weights[word] >= _LEAST * top)[:MOST_CARRIED]
    return Rewritten(" ".join((question, *carried)), carried, own)


def should_speak(
    persona_name: str, probability: float, turns: Sequence[Turn], quotes: Sequence[str], latest: str
) -> float:
    """How much an avatar has to add now, 0 to 1: what it can ground, less what was said; more when addressed."""
    said = {term for turn in turns for term in query_terms(turn.content)}
    terms = [term for quote in quotes for term in query_terms(quote)]
    fresh = sum(term not in said for term in terms) / len(terms) if terms else 0.0
    score = probability * (0.25 + 0.75 * fresh)
    names = {part.lower() for part in persona_name.split() if len(part) > 2}
    if names & set(words(latest)):
        score = max(score, 0.5 * (score + probability), 0.3)
    return round(min(1.0, score), 4)


def _length(word: str) -> float:
    """Longer words are rarer, where nothing better is known."""
    return min(1.0, 0.4 + 0.1 * len(word))
