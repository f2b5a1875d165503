"""The kind of answer that a question asks for, and whether a text has something of that kind.

A sentence on the topic without a number does not answer `how many`. Having one proves nothing, but not having one shows
that the answer is elsewhere.

A question that asks for yes or no is decided by one part of a sentence: it has the words of the question, each in its
role, and nothing hypothetical (`if`, `whether`, `perhaps`). The subject may be a pronoun for what came before.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from pentad.rooms.avatars.verification.comparisons import comparison_changed
from pentad.rooms.avatars.verification.facts import names_in
from pentad.rooms.avatars.verification.normalization import normal_words, normalized
from pentad.rooms.avatars.verification.numbers import numbers_in
from pentad.rooms.avatars.verification.word_order import roles_exchanged
from pentad.search.text import STOP_WORDS, query_terms, stem, terms, words

QuestionKind = Literal[
    "person", "time", "count", "amount", "place", "way", "reason", "definition", "name", "purpose", "abbreviation",
    "which", "yes_no",
]  # fmt: skip
_PATTERNS: Final[tuple[tuple[QuestionKind, re.Pattern[str]], ...]] = (
    ("count", re.compile(r"\bhow many (\w+)")),
    ("amount", re.compile(r"\bhow (?:much|old|long|far|tall|large|big|high|fast|often|deep|heavy|wide)\b")),
    (
        "amount",
        re.compile(
            r"^(?:and |but |so )?what (?:did|does|do|will|would) .+ cost\b|^what (?:is|was) the (?:price|cost) of\b"
        ),
    ),
    ("person", re.compile(r"^(?:and |but |so )?(?:by |to |for |of |with )?(?:who|whom|whose)\b")),
    (
        "time",
        re.compile(r"^(?:and |but |so )?(?:when|(?:in|on|since|until) (?:which|what) (?:year|day|month|century))\b"),
    ),
    (
        "place",
        re.compile(r"^(?:and |but |so )?(?:where|(?:in|at) (?:which|what) (?:city|town|country|place|village))\b"),
    ),
    (
        "name",
        re.compile(
            r"^(?:and |but |so )?what (?:(?:is|are|was|were) the names? of\b"
            r"|(?:is|are|was|were) .+ (?:called|named)\W*$|(?:do|does|did) .+ (?:call|name)\b)"
        ),
    ),
    (
        "purpose",
        re.compile(
            r"^what (?:is|are|was|were) the (?:purposes?|point|use|function|role) of (?:an? |the )?([\w' -]{2,50})\W*$"
            r"|^what (?:is|are|was|were) (?:an? |the )?([\w' -]{2,50}?) (?:used |good |meant )?for\W*$"
        ),
    ),
    ("way", re.compile(r"^how (?:to|is|are|(?:do|can|should|would) (?:i|we|one))\b")),
    ("reason", re.compile(r"^(?:and |but |so )?why\b")),
    (
        "definition",
        re.compile(
            r"^what (?:is|are|was|were) (?:meant by )?(?:an? |the )?"
            r"([\w' -]{2,50})\W*$"
        ),
    ),
    (
        "definition",
        re.compile(r"^what (?:does|do|did) (?:an? |the )?([\w' -]{2,50}?) (?:mean|do|show|represent|stand for)\W*$"),
    ),
    ("which", re.compile(r"^(?:and |but |so )?(?:\w+ )?which (\w+ ?\w*)")),
)
_ABBREVIATION: Final = re.compile(
    r"^what (?:does|do|did) (?:an? |the )?([A-Z][A-Z\d]{1,9}) stand for\W*$", re.IGNORECASE
)
OPEN_KINDS: Final[frozenset[QuestionKind]] = frozenset(("purpose", "abbreviation", "which"))
"""Kinds whose signs have many forms: a text without them may still answer, but nothing proves that it does."""
_PURPOSE: Final = re.compile(
    r"\b(?:used?|useful|serves?|served|intended|designed|meant|purpose|allows?|lets?|enables?|helps?|provides?"
    r"|so that|in order to|(?:is|are|was|were) to)\b"
)
_LISTS: Final = re.compile(r"\b(?:includes?|such as|namely|called|named)\b")
_SUPPOSING: Final = frozenset(("if", "when", "whenever", "whether", "unless", "because", "since", "each", "every"))
_WAY_WORDS: Final = "by with through using until then thus so if must should ought means method way"
_WAY: Final = frozenset(_WAY_WORDS.split())
"""An explanation of how something is done contains one of these; `he was given smoked eel` does not."""
_REASON_WORDS: Final = "because since so therefore thus hence reason cause causes caused owing due after but by lest"
_REASONS: Final = frozenset(_REASON_WORDS.split())
_MONTHS: Final = "january february march april may june july august september october november december"
_TIME: Final = re.compile(
    rf"\b(?:1\d{{3}}|20\d{{2}}|\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_MONTHS.split())}|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|century|spring|summer|autumn|winter|morning|evening|noon|midnight|year|years|month|months"
    r"|day|days|week|weeks|hour|hours|minutes?|daily|weekly|annually|before|after|when|whenever|until)\b"
)
_PLACE: Final = re.compile(
    r"\b(?:in|at|near|on|from|inside|outside|under|beside|between|behind|above|below|to|into)\s+\w"
)
_AMOUNT: Final = re.compile(
    r"\b(?:daily|weekly|monthly|yearly|annually|always|never|often|once|twice|every|each|half|most|all|none)\b"
)
_YEAR: Final = re.compile(r"(?:1\d|20)\d\d")
_DEFINING_WORDS: Final = (
    "is are was were means mean meant refers refer denotes describes consists stands includes allows provides lets"
    " serves handles shows gives acts called named known"
)
_DEFINES: Final = frozenset(_DEFINING_WORDS.split())
_ENTRY: Final = re.compile(r"(?P<term>[^:|(]+)(?:\([^:|()]*\))?\s*:\s+[^|]+")
"""An entry of a definition list: the term and its definition. A row of a table has bars."""
_BEFORE_SUBJECT: Final = 3
_AFTER_SUBJECT: Final = 6
_PHRASE_GAP: Final = 4
_SHORT_WORD: Final = 2
NAMING: Final = frozenset(map(stem, ("name", "call")))
"""`she called it Athena` tells its name."""
_POINTING: Final = frozenset(("this", "these", "that", "it", "which"))
_MOST_SUBJECT: Final = 3
_SMALL: Final = frozenset(("a", "an", "the", "so", "called", "term", "word", "in", "of"))
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
_HYPOTHETICAL_WORDS: Final = "if whether unless suppose supposing perhaps maybe might would could should"
_HYPOTHETICAL: Final = frozenset(_HYPOTHETICAL_WORDS.split())
_WHOLE_WORDS: Final = "all every always never only both most each"
_WHOLE: Final = frozenset(_WHOLE_WORDS.split())
"""Words that decide a question by themselves: `some gates leak` does not tell whether all do."""
_EMPHASIS: Final = frozenset(("actual", "ever", "own", "realli", "truli"))
"""Stems that stress a question and are in no answer."""
_GOING: Final = frozenset(terms("go goes went gone travel visit journey"))
"""Stems that all say that somebody went somewhere."""
_PRONOUN_WORDS: Final = "he she it they this these that those which who"
_PRONOUNS: Final = frozenset(_PRONOUN_WORDS.split())


def kind_of(question: str) -> QuestionKind | None:
    """The kind of answer that is asked for; None if the question does not tell."""
    plain = normalized(question).strip()
    if (short := _ABBREVIATION.match(plain)) is not None and short[1].isupper():
        return "abbreviation"
    text = plain.lower()
    for kind, pattern in _PATTERNS:
        if pattern.search(text):
            return None if kind == "definition" and len(subject_of(question)) > _MOST_SUBJECT else kind
    return "yes_no" if asks_yes_or_no(question) else None


def has_kind(question: str, kind: QuestionKind, sentences: Sequence[str], headings: Sequence[str] = ()) -> bool:
    """Whether a text, as its sentences, has something of this kind that is not in the question already."""
    text = " ".join(sentences)
    if kind == "person":
        asked = set(words(question))
        return any(set(words(name.written)) - asked - STOP_WORDS for name in names_in(text))
    if kind in ("count", "amount"):
        return _has_number(question, kind, text)
    if kind == "time":
        found = set(_TIME.findall(normalized(text).lower())) - set(words(question))
        return bool(found)
    if kind == "place":
        return _PLACE.search(normalized(text).lower()) is not None
    if kind == "definition":
        above = {term for heading in headings for term in terms(heading)}
        subject = subject_of(question)
        left = [root for root in subject if root not in above]
        if left and len(left) < len(subject):  # the heading names the rest
            return any(set(left) <= set(terms(sentence)) and _DEFINES & set(words(sentence)) for sentence in sentences)
        return any(_defines(subject, sentence) for sentence in sentences)
    if kind == "name":
        return _names(question, sentences)
    if kind == "purpose":
        return _tells_purpose(question, sentences, headings)
    if kind == "abbreviation":
        return any(_spells_out(question, sentence) for sentence in sentences)
    if kind == "which":
        return any(_picks(question, sentence) for sentence in sentences)
    if kind == "yes_no":
        return decides(question, sentences, headings)
    signs = _WAY if kind == "way" else _REASONS
    asked_stems = set(query_terms(question))
    return any(asked_stems & set(terms(sentence)) and signs & set(words(sentence)) for sentence in sentences)


def subject_of(question: str) -> list[str]:
    """The stems of the thing whose definition is asked for."""
    text = normalized(question).strip().lower()
    for kind, pattern in _PATTERNS:
        if kind == "definition" and (match := pattern.search(text)) is not None:
            return [stem(word) for word in words(match[1]) if word not in STOP_WORDS]
    return []


def _has_number(question: str, kind: QuestionKind, text: str) -> bool:
    known = {number.value for number in numbers_in(question)}
    fresh = [number for number in numbers_in(text) if number.value not in known]
    counted = re.search(r"\bhow many (\w+)", normalized(question).lower())
    if kind == "count" and counted is not None:
        thing = stem(counted[1])
        return any(number.counts == thing for number in fresh)
    amounts = [number for number in fresh if not _YEAR.fullmatch(number.written)]
    return bool(amounts) or _AMOUNT.search(normalized(text).lower()) is not None


def _names(question: str, sentences: Sequence[str]) -> bool:
    """Whether a sentence says how something is called: this, or what the sentence before it is about."""
    asked = set(query_terms(question)) - NAMING
    before: set[str] = set()
    for sentence in sentences:
        found = set(terms(sentence))
        missing = asked - found
        pointed = len(missing) * 2 <= len(asked) and missing <= before and _POINTING & set(words(sentence))
        if NAMING & found and (not missing or pointed):
            return True
        before |= found
    return False


def _tells_purpose(question: str, sentences: Sequence[str], headings: Sequence[str]) -> bool:
    """Whether a sentence says what something is for: a sentence about it, or the one after such a sentence."""
    text = normalized(question).strip().lower()
    match = next(pattern.search(text) for kind, pattern in _PATTERNS if kind == "purpose")
    subject = set(query_terms((match[1] or match[2]) if match else text))
    before = {term for heading in headings for term in terms(heading)}
    for sentence in sentences:
        found = set(terms(sentence))
        if subject <= found | before and _PURPOSE.search(normalized(sentence).lower()):
            return True
        before |= found
    return False


def _spells_out(question: str, sentence: str) -> bool:
    """Whether consecutive words have the letters of an abbreviation as their initials, or it is said to be short."""
    match = _ABBREVIATION.match(normalized(question).strip())
    letters = match[1].lower() if match else ""
    spelled = (words(sentence), [word for word in words(sentence) if word not in STOP_WORDS])
    initials = " ".join("".join(word[0] for word in each) for each in spelled)
    short = {letters, "stands"} <= set(words(sentence)) or {letters, "short"} <= set(words(sentence))
    return short or (len(letters) > _SHORT_WORD and letters in initials)


def _picks(question: str, sentence: str) -> bool:
    """Whether a sentence has one of the things that `which` asks for: with a new name or number, or as a list."""
    match = re.search(r"\bwhich (\w+ ?\w*)", normalized(question).lower())
    things, found = set(terms(match[1])) if match else set[str](), set(terms(sentence))
    if not things & found:
        return False
    asked = set(words(question))
    known = {number.value for number in numbers_in(question)}
    names = any(set(words(name.written)) - asked - STOP_WORDS for name in names_in(sentence))
    numbers = any(number.value not in known for number in numbers_in(sentence))
    return names or numbers or _LISTS.search(normalized(sentence).lower()) is not None


def _defines(subject: Sequence[str], sentence: str) -> bool:
    """Whether the sentence says what its subject is: `A sluice is ...`, `a gate called sluice`, `Sluice: a gate`.

    A subject of several words is rarely mentioned for another reason, so it only has to be there as a phrase.
    """
    if (entry := _ENTRY.fullmatch(sentence)) is not None and query_terms(entry["term"]) == list(subject):
        return True
    found = words(sentence)
    stems = [stem(word) for word in found]
    size = len(subject)
    if sum(len(root) > _SHORT_WORD for root in subject) > 1:
        window = size + _PHRASE_GAP
        return any(set(subject) <= set(stems[at : at + window]) for at in range(max(1, len(stems) - window + 1)))
    for at in (place for place in range(len(stems)) if subject and stems[place : place + size] == list(subject)):
        before = [word for word in found[:at] if word not in _SMALL]
        after = found[at + size : at + size + _AFTER_SUBJECT]
        if len(before) <= _BEFORE_SUBJECT and _DEFINES & set(after) and not _SUPPOSING & set(found[:at]):
            return True
        if {"called", "named", "term"} & set(found[max(0, at - _BEFORE_SUBJECT) : at]):
            return True
    return False


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
    if (_HYPOTHETICAL & words) - wanted or (_WHOLE & wanted) - words:
        return False
    missing = [place for place, term in enumerate(asked) if term not in held]
    if missing and not _is_subject(missing, len(asked), {asked[place] for place in missing} <= before, words):
        return False
    return not roles_exchanged(question, part) and not comparison_changed(question, part)


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
