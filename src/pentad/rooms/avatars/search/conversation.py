"""Resolves what a question in a conversation refers to, without a language model.

Only a question that refers back (`and why did they?`) takes words from earlier turns: rare ones, recent turns first. A
self-contained question stays as it is, because added words would change its topic. `What about Lydia?` asks the last
question again about somebody else, so it takes that question's words without its names. Greetings and questions about
the avatar itself are not answered from the corpus.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pentad.rooms.avatars.verification.facts import names_in
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


SmallTalk = Literal["greeting", "thanks", "identity"]
_NAMED: Final = r"[a-z]{2,20}"
"""Whoever is greeted."""
_SMALL_TALK: Final[tuple[tuple[SmallTalk, re.Pattern[str]], ...]] = (
    (
        "greeting",
        re.compile(
            rf"(?:(?:hi|hello|hey|hallo|hola|bonjour|ciao|good (?:morning|day|afternoon|evening)|greetings|welcome)"
            rf"(?: (?:there|again|all|{_NAMED}))?|how are you(?: (?:today|doing))?| )+"
        ),
    ),
    (
        "thanks",
        re.compile(
            r"(?:(?:ok|okay|great|perfect|nice|good|cool|wonderful|interesting|that is|that's|very|helpful|many|no|and"
            r"|so|much|a lot|for \w+(?: \w+)?|that helps|that helped) ?)*"
            r"(?:thanks?|thank you|thx|cheers|danke|gracias|merci|grazie|bye|goodbye|good night|see you|ok|okay|great"
            r"|perfect|nice)"
            r"(?: (?:a lot|so much|very much|you|bye|goodbye|for \w+(?: \w+)?|that helps|that helped|that is all))*"
        ),
    ),
    (
        "identity",
        re.compile(
            r"(?:and |so )?(?:who|what) are you(?: really| exactly)?|(?:what is|what's) your name|introduce yourself"
            r"|are you (?:an? )?(?:human|robot|bot|ai|machine|program|real|real person|person)"
            r"|what (?:can|do) you (?:do|know(?: about)?)|what can i ask(?: you)?|tell me about yourself"
            r"|(?:who|whom) am i (?:talking|speaking) (?:to|with)|wer bist du|wer sind sie|qui es tu|qui êtes vous"
            r"|quién eres"
        ),
    ),
)
_SHIFT: Final = re.compile(
    r"^\s*(?:and|but|so)?\s*(?:(?:what|how) (?:about|of)|and)\s+(?!why|how|when|where|who|what)", re.IGNORECASE
)
_MOST_SHIFTED: Final = 3
_ASKS: Final = re.compile(
    r"\s*(?:and |but |so )?(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|could|has"
    r"|have|had|tell me|explain|describe)\b[^.!]*\Z",
    re.IGNORECASE,
)
"""A question, with or without its mark."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the conversation so far."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class RewrittenQuery:
    """A search query. `carried` are words from earlier turns, `own` the stems of the question itself.

    `shifted` says that the question asks the last one again about something else (`What about Lydia?`).
    """

    query: str
    carried: tuple[str, ...]
    own: tuple[str, ...]
    shifted: bool = False

    def weights(self, idf: Mapping[str, float]) -> dict[str, float]:
        """The weights of the query's stems. The new subject weighs more than all that is carried over."""
        if not self.shifted:
            return dict(idf)
        most = sum(idf.values())
        return {term: weight + most if term in self.own else weight for term, weight in idf.items()}


def distinctive_words(text: str) -> list[str]:
    """The words that say what a text is about, without duplicates."""
    return list(
        dict.fromkeys(
            word for word in words(text) if word not in STOP_WORDS and word not in _GENERAL and word not in _POINTING
        )
    )


def refers_back(question: str) -> bool:
    """Whether a question cannot be understood without earlier turns."""
    found = words(question)
    if not distinctive_words(question):
        return True
    if _LINKING.match(question) and len(distinctive_words(question)) <= 3:
        return True
    return any(word in _POINTING for word in found) and len(distinctive_words(question)) <= 4


def small_talk(text: str) -> SmallTalk | None:
    """The kind of small talk this is; None for a question to the corpus."""
    plain = " ".join(re.sub(r"[^\w\s']", " ", text.lower()).split())
    return next((kind for kind, pattern in _SMALL_TALK if pattern.fullmatch(plain)), None)


def _shifted(question: str, turns: Sequence[Turn]) -> tuple[str, ...] | None:
    """For `what about X?`: the words of the last question, without its names. None for other questions."""
    if not _SHIFT.match(question) or not 0 < len(distinctive_words(question)) <= _MOST_SHIFTED:
        return None
    asked = [turn.content for turn in turns if _is_question(turn.content)]
    if not asked:
        return None
    named = {word for name in names_in(asked[-1]) for word in words(name.written)}
    own = {stem(word) for word in distinctive_words(question)}
    return tuple(word for word in distinctive_words(asked[-1]) if word not in named and stem(word) not in own)


def _is_question(text: str) -> bool:
    return text.rstrip().endswith("?") or _ASKS.match(text.rstrip()) is not None


def rewrite_query(question: str, turns: Sequence[Turn], idf: Mapping[str, float] | None = None) -> RewrittenQuery:
    """The search query: the question, with rare words of the last turns if it refers back."""
    own = tuple(stem(word) for word in distinctive_words(question))
    if not turns or not refers_back(question):
        return RewrittenQuery(question, (), own)
    if (shifted := _shifted(question, turns)) is not None:
        return RewrittenQuery(" ".join((question, *shifted)), shifted, own, shifted=True)
    weights: dict[str, float] = {}
    for back, turn in enumerate(reversed(turns[-_TURNS:])):
        for word in distinctive_words(turn.content):
            if stem(word) not in own:
                rare = 1.0 if idf is None else idf.get(stem(word), 0.0)
                asked = 1.5 if _is_question(turn.content) else 1.0
                weights[word] = weights.get(word, 0.0) + DECAY**back * rare * asked * _length(word)
    top = max(weights.values(), default=0.0)
    ranked = sorted(weights, key=lambda word: (-weights[word], word))
    carried = tuple(word for word in ranked if weights[word] >= _LEAST * top)[:MOST_CARRIED]
    return RewrittenQuery(" ".join((question, *carried)), carried, own)


def should_speak(
    persona_name: str, probability: float, turns: Sequence[Turn], quotes: Sequence[str], latest: str
) -> float:
    """How much an avatar can add now, 0 to 1: what it can quote minus what was said; more if it is addressed."""
    said = {term for turn in turns for term in query_terms(turn.content)}
    terms = [term for quote in quotes for term in query_terms(quote)]
    fresh = sum(term not in said for term in terms) / len(terms) if terms else 0.0
    score = probability * (0.25 + 0.75 * fresh)
    names = {part.lower() for part in persona_name.split() if len(part) > 2}
    if names & set(words(latest)):
        score = max(score, 0.5 * (score + probability), 0.3)
    return round(min(1.0, score), 4)


def _length(word: str) -> float:
    """A stand-in for rarity, if nothing else is known: longer words count as rarer."""
    return min(1.0, 0.4 + 0.1 * len(word))
