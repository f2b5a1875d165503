"""Decides whether a quote answers the question, rather than being about the same topic.

Search scores do not tell: a near miss scores as well as an answer. So one quote must contain nearly all that the
question is about, each of its numbers and names, and something of the kind that is asked for (a person, a number, a
reason). This proves nothing, and words can match by chance; a quote that fails may still be an answer, but not a
confident one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.rooms.avatars.answers.question_kinds import NAMING, OPEN_KINDS, QuestionKind, has_kind, kind_of
from pentad.rooms.avatars.verification.evidence import Sentence
from pentad.rooms.avatars.verification.facts import check_facts
from pentad.search.text import STOP_WORDS, query_terms, stem, terms, words

PRACTICALLY_ALL: Final = 0.95
_ASKING_WORDS: Final = (
    "whom whose many much often long far old tell say said think thought mean means about describe explain please"
    " need needs"
)
_ASKING: Final = frozenset(map(stem, _ASKING_WORDS.split()))
"""Words that say what is wanted. An answer need not contain them."""
_SHOWING: Final = frozenset(map(stem, ("show", "represent", "stand")))
_SERVING: Final = frozenset(map(stem, ("use", "purpose", "point", "function", "role", "good")))
_ASKING_FOR: Final[dict[QuestionKind | None, frozenset[str]]] = {
    "definition": _SHOWING, "abbreviation": _SHOWING, "purpose": _SERVING,
}  # fmt: skip
"""Words of the same kind in questions such as `what does this line show?` and `what is a weir used for?`."""
_POINTING_WORDS: Final = "he she it they him her them his hers its their theirs this that these those"
_POINTING: Final = frozenset(_POINTING_WORDS.split())
"""Pronouns: with one telling word beside them, it is not clear what they refer to."""
_PASSIVE_QUESTION: Final = re.compile(
    r"\s*(?:when|where|why|how)(?: and \w+)? (?:is|are|was|were) (?P<object>.+)"
    r" (?P<verb>\w+ed|built|made|born|kept|held|found|written|sent|sold|lost|taken)\b",
    re.IGNORECASE,
)
_AFTER_VERB: Final = frozenset(
    ("about", "after", "against", "at", "for", "from", "in", "of", "on", "to", "upon", "with")
)
"""`who paid for the engine`: the engine is no object of the verb, so where it stands tells little."""
_PASSIVE: Final = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_PASSIVE_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class AnswerSigns:
    """What a quote shows of an answer.

    `word_share` is the weighted share of the question's words in it, `kind` whether it has something of the kind asked
    for (None if unknown), `facts` whether it has the question's names and numbers, and `roles` whether it agrees with
    the question on who does what to whom (None if unknown). `proven` is False if nothing in the quote proves its kind.
    """

    word_share: float = 0.0
    kind: bool | None = None
    facts: bool = False
    roles: bool | None = False
    proven: bool = True

    @property
    def complete(self) -> bool:
        """Whether everything that can be checked speaks for an answer."""
        return (
            self.word_share >= PRACTICALLY_ALL
            and self.kind is not False
            and self.proven
            and self.facts
            and bool(self.roles)
        )


def answer_signs(
    question: str, quotes: Sequence[Sequence[Sentence]], weights: Mapping[str, float], speaker: str
) -> AnswerSigns:
    """The signs of the best of these quotes (runs of sentences). `weights` are those of the query's stems."""
    distinctive = _distinctive_words(weights, speaker, question)
    if len(distinctive) < (2 if _POINTING & set(words(question)) else 1):
        return AnswerSigns()
    signs = [_signs(question, quote, distinctive, speaker) for quote in quotes]
    return max(signs, key=lambda one: (one.complete, one.word_share, bool(one.kind)), default=AnswerSigns())


def _signs(question: str, quote: Sequence[Sentence], distinctive: Mapping[str, float], speaker: str) -> AnswerSigns:
    sentences = [sentence.text for sentence in quote]
    text = " ".join(sentences)
    place = [part for part in (quote[0].passage.source, quote[0].passage.section) if part]
    facts = check_facts(question, (text, *place), (speaker, *speaker.split()))
    kind = kind_of(question)
    found = None if kind is None else has_kind(question, kind, sentences, place)
    is_open = kind in OPEN_KINDS and found is False
    return AnswerSigns(
        word_share=_word_share(distinctive, (text, *place)),
        kind=None if is_open else found,
        proven=not is_open,
        facts=not facts.numbers and not facts.names,
        roles=_has_same_object(question, sentences),
    )


def _distinctive_words(weights: Mapping[str, float], speaker: str, question: str) -> dict[str, float]:
    aside = _ASKING | _POINTING | set(terms(speaker))
    aside |= _ASKING_FOR.get(kind_of(question), frozenset())
    return {term: weight for term, weight in weights.items() if term not in aside}


def _word_share(distinctive: Mapping[str, float], texts: Sequence[str]) -> float:
    """The weighted share of the question's words that the texts contain, without the name of the corpus' author."""
    total = sum(distinctive.values())
    theirs = {term for text in texts for term in terms(text)}
    if theirs & NAMING:
        theirs |= NAMING
    return sum(weight for term, weight in distinctive.items() if term in theirs) / total if total else 0.0


def _has_same_object(question: str, sentences: Sequence[str]) -> bool | None:
    """Whether the object of the question (`who founded the club?`) is the object in a sentence, too.

    In `the club founded a prize` the club is the subject. Other forms of questions pass. None if the sentences have
    the verb of a question such as `who paid for the engine?` without its preposition.
    """
    asked = words(question)
    if len(asked) > 1 and asked[0] == "who" and asked[1] not in STOP_WORDS:
        verb, objects = asked[1], asked[2:]
    elif (passive := _PASSIVE_QUESTION.match(question)) is not None:
        verb, objects = passive["verb"].lower(), words(passive["object"])
    else:
        return True
    stems = set(query_terms(" ".join(objects)))
    found = [words(sentence) for sentence in sentences]
    if any(_undergoes(verb, stems, sentence) for sentence in found):
        return True
    return None if _AFTER_VERB & set(objects[:1]) and any(verb in sentence for sentence in found) else False


def _undergoes(verb: str, objects: set[str], sentence: Sequence[str]) -> bool:
    for at in (place for place, word in enumerate(sentence) if word == verb):
        passive = _PASSIVE & set(sentence[max(0, at - _PASSIVE_GAP) : at]) or "by" in sentence[at + 1 : at + 2]
        if passive or objects & {stem(word) for word in sentence[at + 1 :]}:
            return True
    return False
