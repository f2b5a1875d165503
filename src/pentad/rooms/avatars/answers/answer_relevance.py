"""Decides whether a quote answers the question, rather than being about the same topic.

Search scores do not tell: a near miss scores as well as an answer. So one quote must contain nearly all that the
question is about, each of its numbers and names, and something of the kind that is asked for (a person, a number, a
reason). This proves nothing, and words can match by chance; a quote that fails may still be an answer, but not a
confident one.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.facts import check_facts, names_in
from pentad.rooms.avatars.verification.numbers import numbers_in
from pentad.search.text import STOP_WORDS, query_terms, stem, terms, words

PRACTICALLY_ALL: Final = 0.95
_ASKING_WORDS: Final = (
    "whom whose many much often long far old tell say said think thought mean means about describe explain please"
)
_ASKING: Final = frozenset(map(stem, _ASKING_WORDS.split()))
"""Words that say what is wanted. An answer need not contain them."""
_POINTING_WORDS: Final = "he she it they him her them his hers its their theirs this that these those"
_POINTING: Final = frozenset(_POINTING_WORDS.split())
"""Pronouns: with one telling word beside them, it is not clear what they refer to."""
_PERSON: Final = frozenset(("who", "whom", "whose"))
_NUMBERED: Final = frozenset(("when", "many", "much"))
_HOW_MANY: Final = re.compile(r"\bhow many (\w+)", re.IGNORECASE)
_PASSIVE_QUESTION: Final = re.compile(
    r"\s*(?:when|where|why|how)(?: and \w+)? (?:is|are|was|were) (?P<object>.+)"
    r" (?P<verb>\w+ed|built|made|born|kept|held|found|written|sent|sold|lost|taken)\b",
    re.IGNORECASE,
)
_ASKS_A_WAY: Final = re.compile(r"\s*how (?:to|is|are|(?:do|can|should|would) (?:i|we|one))\b", re.IGNORECASE)
_WAY_WORDS: Final = "by with through using until then thus so if must should ought means method way"
_WAY: Final = frozenset(_WAY_WORDS.split())
"""An explanation of how something is done contains one of these; `he was given smoked eel` does not."""
_ASKS_A_REASON: Final = re.compile(r"\W*(?:(?:and|but|so) )?why\b", re.IGNORECASE)
_REASON_WORDS: Final = "because since so therefore thus hence reason cause causes caused owing due after but by lest"
_REASONS: Final = frozenset(_REASON_WORDS.split())
_PASSIVE: Final = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_PASSIVE_GAP: Final = 2


def shows_answer(
    question: str, quotes: Sequence[Sequence[Sentence]], weights: Mapping[str, float], speaker: str
) -> bool:
    """Whether one of the quotes (runs of sentences) answers the question. `weights` are those of the query's stems."""
    if len(_telling(weights, speaker)) < (2 if _POINTING & set(words(question)) else 1):
        return False
    return any(_shows(question, quote, weights, speaker) for quote in quotes)


def _shows(question: str, quote: Sequence[Sentence], weights: Mapping[str, float], speaker: str) -> bool:
    text = " ".join(sentence.text for sentence in quote)
    place = [part for part in (quote[0].passage.source, quote[0].passage.section) if part]
    if _held(weights, (text, *place), speaker) < PRACTICALLY_ALL:
        return False
    facts = check_facts(question, (text, *place), (speaker, *speaker.split()))
    if facts.numbers or facts.names:
        return False
    sentences = [sentence.text for sentence in quote]
    return _has_kind(question, text) and _is_done_to(question, sentences) and _tells_how_or_why(question, sentences)


def _telling(weights: Mapping[str, float], speaker: str) -> dict[str, float]:
    aside = _ASKING | _POINTING | set(terms(speaker))
    return {term: weight for term, weight in weights.items() if term not in aside}


def _held(weights: Mapping[str, float], texts: Sequence[str], speaker: str) -> float:
    """The weighted share of the question's words that the texts contain, without the name of the corpus' author."""
    telling = _telling(weights, speaker)
    total = sum(telling.values())
    theirs = {term for text in texts for term in terms(text)}
    return sum(weight for term, weight in telling.items() if term in theirs) / total if total else 0.0


def _has_kind(question: str, text: str) -> bool:
    """Whether the person, number or time that is asked for is in the text, besides those in the question."""
    asked = words(question)
    if _PERSON & set(asked) and not any(set(words(name.written)) - set(asked) for name in names_in(text)):
        return False
    known = {number.value for number in numbers_in(question)}
    fresh = [number for number in numbers_in(text) if number.value not in known]
    if (counted := _HOW_MANY.search(question)) is not None:
        return any(number.counts == stem(counted[1].lower()) for number in fresh)
    return bool(fresh) or not _NUMBERED & set(asked)


def _tells_how_or_why(question: str, sentences: Sequence[str]) -> bool:
    """If the question asks how or why: whether a sentence on its topic gives a way or a reason."""
    if _ASKS_A_WAY.match(question) is not None:
        signs = _WAY
    elif _ASKS_A_REASON.match(question) is not None:
        signs = _REASONS
    else:
        return True
    asked = set(query_terms(question))
    return any(asked & set(terms(sentence)) and signs & set(words(sentence)) for sentence in sentences)


def _is_done_to(question: str, sentences: Sequence[str]) -> bool:
    """Whether the object of the question (`who founded the club?`) is the object in a sentence, too.

    In `the club founded a prize` the club is the subject. Questions of another form pass.
    """
    asked = words(question)
    if len(asked) > 1 and asked[0] == "who" and asked[1] not in STOP_WORDS:
        verb, objects = asked[1], asked[2:]
    elif (passive := _PASSIVE_QUESTION.match(question)) is not None:
        verb, objects = passive["verb"].lower(), words(passive["object"])
    else:
        return True
    stems = set(query_terms(" ".join(objects)))
    return any(_undergoes(verb, stems, words(sentence)) for sentence in sentences)


def _undergoes(verb: str, objects: set[str], sentence: Sequence[str]) -> bool:
    for at in (place for place, word in enumerate(sentence) if word == verb):
        passive = _PASSIVE & set(sentence[max(0, at - _PASSIVE_GAP) : at]) or "by" in sentence[at + 1 : at + 2]
        if passive or objects & {stem(word) for word in sentence[at + 1 :]}:
            return True
    return False
