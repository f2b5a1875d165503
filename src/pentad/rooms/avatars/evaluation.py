"""Scores an avatar on its own corpus: retrieval, abstention, and whether the checks catch errors.

Needs no labels: questions are made from the corpus, from other fields and from other avatars, and correct statements
are perturbed. The same corpus gives the same score card.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot, sentences_of
from pentad.rooms.avatars.calibration.fit import (
    MOST_EXAMPLES,
    keyword_question,
    off_topic_questions,
    sampled,
)
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.perturbations import Kind, Perturbation, perturbations, shortened
from pentad.rooms.avatars.search.gate import decide
from pentad.rooms.avatars.search.retrieval import retrieve
from pentad.rooms.avatars.verification.drafts import Draft, Statement
from pentad.rooms.avatars.verification.evidence import Sentence, numbered
from pentad.rooms.avatars.verification.quotes import quotes_in
from pentad.rooms.avatars.verification.verify import Checked, Verifier
from pentad.rooms.avatars.verification.wording import find_run, normal_words

if TYPE_CHECKING:
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity


Group = Literal["retrieval", "abstention", "mutation"]
Step = Callable[[Group, int, int], None]

_OWN: Final = 400
_ASKED: Final = 80
_FOREIGN: Final = 120
_SPOILT: Final = 60
_PASSAGES: Final = 10
_BESIDE: Final = 4
_FEWEST_WORDS: Final = 6
_SALT: Final = "evaluation"
GOALS: Final[dict[Kind, float]] = {
    "number": 0.99, "quote": 1.0, "citation": 0.98, "name": 0.95, "swap": 0.8, "clause": 0.9, "negation": 0.99,
}  # fmt: skip
_SHOWN: Final[dict[Kind, str]] = {
    "number": "changed number caught", "quote": "altered quote caught",
    "citation": "wrong citation caught", "name": "false name caught", "swap": "exchanged names caught",
    "clause": "invented clause caught", "negation": "negation caught",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: a share of `of` cases, and its goal, if there is one."""

    group: Group
    name: str
    value: float
    of: int
    goal: float | None = None

    @property
    def passed(self) -> bool:
        return self.goal is None or round(self.value, 4) >= self.goal


@dataclass(slots=True)
class ScoreCard:
    """All figures of one avatar."""

    avatar: str
    retrieval: str
    lines: list[Line] = field(default_factory=list[Line])
    notes: list[str] = field(default_factory=list[str])

    @property
    def passed(self) -> bool:
        return all(line.passed for line in self.lines)

    def as_json(self) -> dict[str, Any]:
        lines = [
            {"group": line.group, "name": line.name, "value": round(line.value, 4), "of": line.of, "goal": line.goal,
             "passed": line.passed}
            for line in self.lines
        ]  # fmt: skip
        return {"avatar": self.avatar, "retrieval": self.retrieval, "passed": self.passed, "lines": lines,
                "notes": self.notes}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The probability that the corpus covers a question, and whether the avatar would answer it."""

    probability: float
    answers: bool


async def evaluate(
    avatar: AvatarSnapshot, others: Sequence[AvatarSnapshot], similarity: "SentenceSimilarity", step: Step | None = None
) -> ScoreCard:
    """Score one avatar."""
    step = step or _ignore_progress
    passages = await avatar.some_passages(_OWN)
    own = _unseen(sentences_of(passages))
    asked = [(text, question) for text in own if (question := keyword_question(text, _SALT)) is not None][:_ASKED]
    card = ScoreCard(avatar.id, (await avatar.search(avatar.persona.name, 1)).retrieval)
    if not asked:
        card.notes.append("The corpus is too small to make questions from it.")
        return card
    covered = await _find(card, avatar, asked, similarity, step)
    foreign = await _foreign(card, avatar, others, similarity, step)
    _abstain(card, covered, foreign)
    await _catch(card, avatar, passages, similarity, step)
    return card


def _ignore_progress(group: Group, done: int, total: int) -> None:
    """Ignores progress."""


def _unseen(sentences: Sequence[str]) -> list[str]:
    """The sentences, starting with those the calibration was not fitted on."""
    ranked = sampled(sentences, len(sentences))
    return [*ranked[MOST_EXAMPLES:], *ranked[:MOST_EXAMPLES]]


async def _find(
    card: ScoreCard,
    avatar: AvatarSnapshot,
    asked: Sequence[tuple[str, str]],
    similarity: "SentenceSimilarity",
    step: Step,
) -> list[_Coverage]:
    """Whether a question made from a sentence finds the passage with that sentence."""
    first = five = 0
    ranks = 0.0
    tried: list[_Coverage] = []
    for done, (text, question) in enumerate(asked, start=1):
        found = await retrieve(avatar, question, _PASSAGES, similarity)
        places = [place for place, scored in enumerate(found.passages, start=1) if text in scored.passage.content]
        place = places[0] if places else None
        first += place == 1
        five += place is not None and place <= 5
        ranks += 1 / place if place else 0.0
        tried.append(_Coverage(found.probability, decide(question, found, avatar.persona).answers))
        step("retrieval", done, len(asked))
    size = len(asked)
    card.lines += [
        Line("retrieval", "its passage first", first / size, size),
        Line("retrieval", "its passage among five", five / size, size, 0.8),
        Line("retrieval", "mean reciprocal rank", ranks / size, size),
    ]
    return tried


async def _foreign(
    card: ScoreCard,
    avatar: AvatarSnapshot,
    others: Sequence[AvatarSnapshot],
    similarity: "SentenceSimilarity",
    step: Step,
) -> list[_Coverage]:
    """Questions the corpus cannot answer. A field is left out if most of its questions look covered."""
    by_field = off_topic_questions()
    share = max(1, _FOREIGN // len(by_field))
    fields = {name: sampled(listed, share) for name, listed in by_field.items()}
    for other in others:
        texts = sampled(sentences_of(await other.some_passages(20)), 20)
        made = (keyword_question(text, _SALT) for text in texts)
        fields[f"avatar {other.id}"] = [question for question in made if question is not None]
    tried: list[_Coverage] = []
    for done, (name, listed) in enumerate(fields.items(), start=1):
        found = [await _ask(avatar, question, similarity) for question in listed]
        if sum(one.answers for one in found) * 2 > len(found):
            card.notes.append(f"Left out, because the corpus may cover this field: {name}.")
        else:
            tried += found
        step("abstention", done, len(fields))
    return tried


async def _ask(avatar: AvatarSnapshot, question: str, similarity: "SentenceSimilarity") -> _Coverage:
    found = await retrieve(avatar, question, _PASSAGES, similarity)
    return _Coverage(found.probability, decide(question, found, avatar.persona).answers)


def _abstain(card: ScoreCard, covered: Sequence[_Coverage], foreign: Sequence[_Coverage]) -> None:
    answered = sum(one.answers for one in covered)
    silent = sum(not one.answers for one in foreign)
    card.lines.append(Line("abstention", "own question answered", answered / len(covered), len(covered), 0.6))
    if foreign:
        tried = [*((one.probability, True) for one in covered), *((one.probability, False) for one in foreign)]
        card.lines += [
            Line("abstention", "foreign question refused", silent / len(foreign), len(foreign), 0.95),
            Line("abstention", "told apart (AUROC)", _auroc(covered, foreign), len(covered) + len(foreign), 0.95),
            Line("abstention", "calibration error (ECE)", calibration_error(tried), len(tried)),
        ]


def calibration_error(tried: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Expected calibration error: how far probabilities are from how often they come true, over equal ranges."""
    error = 0.0
    for place in range(bins):
        inside = [(value, true) for value, true in tried if min(int(value * bins), bins - 1) == place]
        if inside:
            error += abs(sum(value for value, _ in inside) - sum(true for _, true in inside))
    return error / len(tried) if tried else 0.0


def _auroc(covered: Sequence[_Coverage], foreign: Sequence[_Coverage]) -> float:
    """How often a covered question gets a higher probability than a foreign one."""
    higher = sum(
        1.0 if one.probability > other.probability else 0.5 if one.probability == other.probability else 0.0
        for one in covered
        for other in foreign
    )
    return higher / (len(covered) * len(foreign))


async def _catch(
    card: ScoreCard, avatar: AvatarSnapshot, passages: Sequence[Passage], similarity: "SentenceSimilarity", step: Step
) -> None:
    """Correct statements must pass, perturbed ones must not."""
    chosen = sampled([passage.content for passage in passages], _SPOILT)
    held = [passage for passage in passages if passage.content in chosen]
    caught: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    passed = intact = accepted = short = 0
    for done, passage in enumerate(held):
        evidence = numbered([passage, *(one for one in islice(held, done + 1, done + 1 + _BESIDE))])
        verifier = Verifier(evidence, avatar.persona.name, similarity, avatar.calibration.thresholds)
        words = sorted({word for each in evidence for word in each.words if word.isalpha() and len(word) > 2})
        own = [each for each in evidence if each.passage.id == passage.id and len(each.words) >= _FEWEST_WORDS]
        for sentence in own[:2]:
            intact += 1
            passed += (await _checked(verifier, f"\u201c{sentence.text}\u201d", sentence)).passes
            if (less := shortened(sentence)) is not None:
                short += 1
                accepted += (await _checked(verifier, less, sentence)).verdict != "unsupported"
            for one in perturbations(sentence, evidence, words):
                tried[one.kind] += 1
                caught[one.kind] += _is_caught(one, await _checked(verifier, one.text, one.cites))
        step("mutation", done + 1, len(held))
    if intact:
        card.lines.append(Line("mutation", "correct quote passes", passed / intact, intact, 0.98))
    if short:
        card.lines.append(Line("mutation", "shortened sentence accepted", accepted / short, short, 0.9))
    card.lines += [
        Line("mutation", _SHOWN[kind], caught[kind] / tried[kind], tried[kind], goal)
        for kind, goal in GOALS.items()
        if tried[kind]
    ]


async def _checked(verifier: Verifier, text: str, cites: Sentence) -> Checked:
    (found,) = await verifier.check(Draft((Statement(text, (cites.name,)),)))
    return found


def _is_caught(one: Perturbation, checked: Checked) -> bool:
    """Whether the error would not be said: dropped, replaced by the source, repaired, or cited correctly."""
    if not checked.passes:
        return True
    if one.kind == "citation":
        return one.cites not in checked.sentences
    spans = [normal_words(span) for span in quotes_in(checked.text)]
    if not all(any(find_run(span, each.words) is not None for each in checked.sentences) for span in spans):
        return False
    return normal_words(checked.text) != normal_words(one.text)
