"""Makes correct statements wrong in one respect each, and counts how many of these mutations the checks catch.

True statements, shortened or reworded, must pass.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.calibration.fit import sample_sentences, stable_hash
from pentad.rooms.avatars.evaluation.score_card import Line, share
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.verification.clauses import clauses, content_words
from pentad.rooms.avatars.verification.drafts import Draft, Statement
from pentad.rooms.avatars.verification.evidence import Sentence, number_sentences
from pentad.rooms.avatars.verification.facts import names_in
from pentad.rooms.avatars.verification.normalization import find_run, normal_words
from pentad.rooms.avatars.verification.numbers import is_number
from pentad.rooms.avatars.verification.polarity import negations
from pentad.rooms.avatars.verification.quotes import quotes_in
from pentad.rooms.avatars.verification.verifier import Checked, Verifier

if TYPE_CHECKING:
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

T = TypeVar("T")
Kind = Literal["number", "quote", "citation", "name", "swap", "clause", "negation"]

_NAMES: Final = ("Marta Quist", "Harald Finnegan", "Lena Sorensen", "Rosa Valdez", "Isabel Moreau")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_NUMBER: Final = re.compile(r"(?<![\w.,])\d{1,6}(?![\w]|[.,]\d)")
_NOT: Final = re.compile(r"\s(?:not|never)\s")
_NEGATABLE: Final = re.compile(r"\b(is|are|was|were|will|would|can|could|must|should|has|have|had)\b(?!\s+(?:not|n't))")
_FEWEST_WORDS: Final = 5
_CONDITION: Final = re.compile(
    r"(?P<word>If|When|Because|Although|While) (?P<condition>[^,;:]{8,120}), (?P<main>[a-z][^,;:]{8,160})\."
)
_SAME: Final = {
    "large": "big", "begins": "starts", "began": "started", "often": "frequently", "purchase": "buy", "allows": "lets",
    "shows": "displays", "choose": "select", "select": "choose", "obtain": "get", "quickly": "fast", "entire": "whole",
    "approximately": "about", "nearly": "almost", "numerous": "many", "requires": "needs", "assist": "help",
    "easy": "simple", "error": "mistake", "additional": "further", "usually": "normally", "correct": "right",
    "important": "significant", "small": "little", "several": "some", "created": "made", "create": "make",
}  # fmt: skip
_CONTRACTED: Final = {
    " do not ": " don't ", " does not ": " doesn't ", " is not ": " isn't ", " are not ": " aren't ",
    " was not ": " wasn't ", " cannot ": " can't ", " did not ": " didn't ", " will not ": " won't ",
}  # fmt: skip
_PASSAGES: Final = 60
_BESIDE: Final = 4
_FEWEST_QUOTED: Final = 6
GOALS: Final[dict[Kind, float]] = {
    "number": 0.99, "quote": 1.0, "citation": 0.98, "name": 0.95, "swap": 0.8, "clause": 0.9, "negation": 0.99,
}  # fmt: skip
_SHOWN: Final[dict[Kind, str]] = {
    "number": "changed number caught", "quote": "altered quote caught",
    "citation": "wrong citation caught", "name": "false name caught", "swap": "exchanged names caught",
    "clause": "invented clause caught", "negation": "negation caught",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutation:
    """A statement made wrong, and the sentence it cites."""

    kind: Kind
    text: str
    cites: Sentence


async def mutation_lines(
    avatar: AvatarSnapshot,
    passages: Sequence[Passage],
    similarity: "SentenceSimilarity",
    step: Callable[[int, int], None],
) -> list[Line]:
    """Correct statements must pass, mutations must not."""
    chosen = sample_sentences([passage.content for passage in passages], _PASSAGES)
    held = [passage for passage in passages if passage.content in chosen]
    caught: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for done, passage in enumerate(held):
        evidence = number_sentences([passage, *(one for one in islice(held, done + 1, done + 1 + _BESIDE))])
        verifier = Verifier(evidence, avatar.persona.name, similarity, avatar.calibration.thresholds)
        words = sorted({word for each in evidence for word in each.words if word.isalpha() and len(word) > 2})
        own = [each for each in evidence if each.passage.id == passage.id and len(each.words) >= _FEWEST_QUOTED]
        for sentence in own[:2]:
            tried["true"] += 1
            caught["true"] += (await _checked(verifier, f"\u201c{sentence.text}\u201d", sentence)).passes
            for kind, texts in (("shortened", shortened(sentence)), ("paraphrased", paraphrases(sentence))):
                for text in texts:
                    tried[kind] += 1
                    caught[kind] += (await _checked(verifier, text, sentence)).verdict != "unsupported"
            for one in mutations(sentence, evidence, words):
                tried[one.kind] += 1
                caught[one.kind] += _is_caught(one, await _checked(verifier, one.text, one.cites))
        step(done + 1, len(held))
    true = (("true", "correct quote passes", 0.98), ("shortened", "shortened sentence accepted", 0.9),
            ("paraphrased", "simple paraphrase accepted", 0.9))  # fmt: skip
    lines = [share(f"mutation.{kind}", name, caught[kind], tried[kind], goal) for kind, name, goal in true]
    lines += [share(f"mutation.{kind}", _SHOWN[kind], caught[kind], tried[kind], goal) for kind, goal in GOALS.items()]
    return [line for line in lines if line.of]


async def _checked(verifier: Verifier, text: str, cites: Sentence) -> Checked:
    (found,) = await verifier.check(Draft((Statement(text, (cites.name,)),)))
    return found


def _is_caught(one: Mutation, checked: Checked) -> bool:
    """Whether the error would not be said: dropped, replaced by the source, repaired, or cited correctly."""
    if not checked.passes:
        return True
    if one.kind == "citation":
        return one.cites not in checked.sentences
    spans = [normal_words(span) for span in quotes_in(checked.text)]
    if not all(any(find_run(span, each.words) is not None for each in checked.sentences) for span in spans):
        return False
    return normal_words(checked.text) != normal_words(one.text)


def mutations(sentence: Sentence, others: Sequence[Sentence], words: Sequence[str]) -> Iterator[Mutation]:
    """The sentence with one thing changed: a number, a quoted word, the citation, a name, a clause, a negation."""
    text = sentence.text
    for match in _NUMBER.finditer(text):
        other = int(match[0]) + 1 + stable_hash(text) % 89
        yield Mutation("number", f"{text[: match.start()]}{other}{text[match.end() :]}", sentence)
    if (match := _picked(list(_WORD.finditer(text)), text)) is not None and words:
        other = next((word for word in _turned(words, text) if word != match[0].lower()), None)
        if other is not None:
            yield Mutation("quote", f"\u201c{text[: match.start()]}{other}{text[match.end() :]}\u201d", sentence)
    wrong = [each for each in others if each.passage.id != sentence.passage.id]
    if (elsewhere := _picked(wrong, text)) is not None:
        yield Mutation("citation", text, elsewhere)
        if (clause := _clause_of(elsewhere)) is not None:
            yield Mutation("clause", f"{text.rstrip(' .!?')}, and {clause}.", sentence)
    if (turned := _negated(text)) is not None:
        yield Mutation("negation", turned, sentence)
    yield from _renamed(sentence)


def shortened(sentence: Sentence) -> list[str]:
    """The first clause of a sentence as a statement of its own: still true. Empty if there is only one."""
    first, *rest = clauses(sentence.text) or [""]
    if not rest or len(content_words(normal_words(first))) < _FEWEST_WORDS or negations(normal_words(" ".join(rest))):
        return []
    return [f"{first.rstrip(' ,.')}."]


def paraphrases(sentence: Sentence) -> list[str]:
    """The sentence reworded with the same meaning: clauses exchanged, a word replaced, a negation contracted."""
    text = sentence.text
    made: list[str] = []
    if (match := _CONDITION.fullmatch(text)) is not None:
        main = match["main"]
        made.append(f"{main[0].upper()}{main[1:]} {match['word'].lower()} {match['condition']}.")
    for word, other in _SAME.items():
        if (at := re.search(rf"\b{word}\b", text)) is not None:
            made.append(f"{text[: at.start()]}{other}{text[at.end() :]}")
            break
    for written, short in _CONTRACTED.items():
        if written in text:
            made.append(text.replace(written, short, 1))
            break
    return made


def _renamed(sentence: Sentence) -> Iterator[Mutation]:
    text = sentence.text
    names = [name for name in names_in(text) if name.certain and name.written in text]
    names = [name for name in names if not is_number(name.words[0].lower())]
    for name in names:
        other = _NAMES[stable_hash(text + name.written) % len(_NAMES)]
        yield Mutation("name", text.replace(name.written, other, 1), sentence)
    written = [name.written for name in names]
    for one, other in pairwise(written):
        if (turned := _exchanged(text, one, other)) is not None:
            yield Mutation("swap", turned, sentence)


def _exchanged(text: str, one: str, other: str) -> str | None:
    """The text with two names in each other's place; None if nothing but a list lies between them."""
    first = text.find(one)
    second = text.find(other, first + len(one))
    if first < 0 or second < 0 or one in other or other in one:
        return None
    between = text[first + len(one) : second]
    if not content_words(normal_words(between)):
        return None
    return f"{text[:first]}{other}{between}{one}{text[second + len(other) :]}"


def _clause_of(sentence: Sentence) -> str | None:
    """A true clause of another sentence, to append where it does not belong."""
    found = [piece for piece in clauses(sentence.text) if len(content_words(normal_words(piece))) >= 3]
    return None if not found else re.sub(r"^(?:and|but|or)\s+", "", found[-1].strip(" .!?"), flags=re.IGNORECASE)


def _negated(text: str) -> str | None:
    if (match := _NOT.search(text)) is not None:
        return f"{text[: match.start()]} {text[match.end() :]}"
    if (match := _NEGATABLE.search(text)) is not None:
        return f"{text[: match.end()]} not{text[match.end() :]}"
    return None


def _picked(items: Sequence[T], text: str) -> T | None:
    return items[stable_hash(text) % len(items)] if items else None


def _turned(words: Sequence[str], text: str) -> Iterator[str]:
    start = stable_hash(f"other{text}") % len(words)
    yield from words[start:]
    yield from words[:start]
