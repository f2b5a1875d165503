"""Fits an avatar's calibration to its own corpus after an ingest, without labels.

Covered questions are made from the corpus: some distinctive words of a sentence, phrased as a person would. Questions
that are not covered come from other fields and other avatars, and from the corpus itself: near misses, asked without
the document that answers them. The fit starts at the default model and is pulled towards it, so a few examples change
little. All choices go by hashes, so the same corpus gives the same calibration. A quarter of the fields is held out
for evaluations (`is_held_out`).
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pentad.rooms.avatars import store
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot, sentences_of
from pentad.rooms.avatars.calibration.model import (
    DEFAULT_HYBRID,
    DEFAULT_LEXICAL,
    AnswerAdjustment,
    Calibration,
    LogisticMap,
    Rated,
)
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.search.conversation import distinctive_words
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.topic_overlap import Thresholds
from pentad.search.documents import Features, Ranking

MOST_EXAMPLES: Final = 160
FEWEST_EXAMPLES: Final = 12
MOST_MIXED: Final = 50
MOST_LEFT_OUT: Final = 60
_FEWEST_DOCUMENTS: Final = 3
_LARGEST_SHARE: Final = 0.5
_HELD_OUT: Final = 4
_LARGE: Final = 200
_FORMS: Final = (
    "What do you say about {}?", "How are {} related?", "Why does {} matter?", "Can you explain {}?",
    "What is known of {}?", "How would you describe {}?", "What role does {} play?", "{}",
)  # fmt: skip
_OTHER: Final = (
    "reason effect benefit problem method rule purpose cause result advantage danger habit origin meaning importance"
    " difference kind number amount place length history change cost limit practice principle custom advice success"
)
_OTHER_WORDS: Final = tuple(_OTHER.split())

_OWN: Final = 400
_OTHERS: Final = 6
_OF_EACH: Final = 40
_PASSAGES: Final = 8
_HELD: Final = 60.0
"""How strongly a fit is pulled towards its start, in examples."""
_BIAS_HELD: Final = 9.0
_SIZED: Final = frozenset(("missing_idf", "query_terms"))
_ROUNDS: Final = 50

Search = Callable[[str], Awaitable[Ranking]]
Floats = NDArray[np.floating[Any]]


async def calibrate(
    avatar: AvatarSnapshot,
    others: Sequence[AvatarSnapshot],
    similarity: "SentenceSimilarity",
    model: str | None,
    rated: Sequence[Rated] = (),
) -> bool:
    """Fit and store the avatar's calibration; False if a new generation was stored meanwhile, which gets its own."""
    passages = await avatar.some_passages(_OWN)
    own = sentences_of(passages)
    theirs = [text for other in others[:_OTHERS] for text in sentences_of(await other.some_passages(_OF_EACH))]
    missed = await near_misses(avatar, passages)
    made = await fit_calibration(
        lambda question: avatar.search(question, _PASSAGES), own, theirs, similarity, model, missed=missed, rated=rated
    )
    text, one = made.as_text(), avatar.avatar
    return await avatar.database.write(lambda tx: store.keep_calibration(tx, one.number, one.generation, text))


def off_topic_questions() -> dict[str, list[str]]:
    """Questions from many fields, by field: what a corpus usually does not answer."""
    text = files("pentad.rooms.avatars.calibration").joinpath("off_topic_questions.json").read_text("utf-8")
    return json.loads(text)


def is_held_out(text: str) -> bool:
    """Whether a field of foreign questions, or a sentence of another avatar, is for evaluations and not for fits."""
    return stable_hash(f"held out {text}") % _HELD_OUT == 0


@dataclass(frozen=True, slots=True)
class PassageDocuments:
    """The document of each passage of a corpus."""

    where: Mapping[int, int]
    sizes: Mapping[int, int]

    def can_leave_out(self, document: int) -> bool:
        """Whether enough is left without a document: two others, and half of the passages."""
        return len(self.sizes) >= _FEWEST_DOCUMENTS and self.sizes[document] <= _LARGEST_SHARE * len(self.where)

    def without(self, document: int) -> list[int]:
        """The passages of all other documents."""
        return [passage for passage, place in self.where.items() if place != document]


async def passage_documents(avatar: AvatarSnapshot) -> PassageDocuments:
    number = avatar.avatar.number
    where = await avatar.database.read(lambda rows: store.passage_documents(rows, number))
    return PassageDocuments(where, Counter(where.values()))


async def near_misses(avatar: AvatarSnapshot, passages: Sequence[Passage]) -> list[Ranking]:
    """What is found for questions of the corpus if their own document is left out, where it had the best passage."""
    corpus = await passage_documents(avatar)
    usable = [one for one in passages if corpus.can_leave_out(one.document)]
    documents = {text: one.document for one in usable for text in sentences_of([one])}
    found: list[Ranking] = []
    for text in sample_sentences(list(documents), MOST_EXAMPLES):
        if (question := keyword_question(text, "left out")) is None or len(found) == MOST_LEFT_OUT:
            continue
        document = documents[text]
        best = (await avatar.search(question, 1)).hits
        if best and corpus.where.get(best[0].id) == document:
            found.append(await avatar.search(question, _PASSAGES, corpus.without(document)))
    return found


def keyword_question(sentence: str, salt: str = "") -> str | None:
    """A question with some distinctive words of a sentence; None if it has too few."""
    words = [word for word in distinctive_words(sentence) if len(word) > 2]
    if len(words) < 4:
        return None
    ranked = sorted(words, key=lambda word: stable_hash(f"{salt}{sentence}\x00{word}"))
    count = 2 + stable_hash(f"{salt}{sentence}") % 4
    kept = [word for word in words if word in ranked[:count]]
    if stable_hash(f"{salt}other{sentence}") % 5 < 3:  # people seldom use only the words of the text
        kept.insert(1, _OTHER_WORDS[stable_hash(f"{salt}which{sentence}") % len(_OTHER_WORDS)])
    form = _FORMS[stable_hash(f"{salt}form{sentence}") % len(_FORMS)]
    return form.format(" and ".join(kept) if len(kept) < 3 else f"{' '.join(kept[:-1])} and {kept[-1]}")


def mixed_questions(own: Sequence[str]) -> list[str]:
    """Questions that mix words of three unrelated sentences: the corpus has the words, but no passage with all of them.

    None for a small corpus, where all words are close to each other.
    """
    if len(own) < _LARGE:
        return []
    some = [words for text in sample_sentences(own, 3 * MOST_MIXED) if len(words := distinctive_words(text)) > 4]
    third = len(some) // 3
    parts = zip(some[:third], some[third : 2 * third], some[2 * third :], strict=False)
    return [
        _FORMS[place % len(_FORMS)].format(" ".join(word for words in each for word in _one_or_two(words)))
        for place, each in enumerate(parts)
    ]


def _one_or_two(words: Sequence[str]) -> Sequence[str]:
    at = stable_hash(" ".join(words)) % (len(words) - 1)
    return words[at : at + 1 + at % 2]


def sample_sentences(sentences: Sequence[str], most: int) -> list[str]:
    """Up to `most` sentences, chosen by hash."""
    return sorted(dict.fromkeys(sentences), key=lambda text: (stable_hash(text), text))[:most]


async def fit_calibration(
    search: Search,
    own: Sequence[str],
    others: Sequence[str],
    similarity: SentenceSimilarity,
    model: str | None,
    start: Calibration | None = None,
    missed: Sequence[Ranking] = (),
    rated: Sequence[Rated] = (),
) -> Calibration:
    """Fit the calibration of a corpus with these sentences. `others` are sentences of other avatars, `missed` what was
    found for near misses, `rated` accepted feedback."""
    start = start or Calibration()
    examples = [
        *await _covered(search, own),
        *await _not_covered(search, others, start),
        *[(await search(question), False) for question in mixed_questions(own)],
        *[(ranking, False) for ranking in missed if ranking.hits],
        *[(await search(one.question), one.covered) for one in rated if one.covered is not None],
    ]
    hybrid = [Example(ranking.features, covered) for ranking, covered in examples if ranking.retrieval == "hybrid"]
    every = [Example(ranking.features, covered) for ranking, covered in examples]
    answers = fit_answers([(one.evidence, one.helpful) for one in rated if not one.abstained])
    if sum(covered for _, covered in examples) < FEWEST_EXAMPLES:
        return replace(start, model=model, answers=answers)
    return Calibration(
        hybrid=fit(hybrid, start.hybrid) if len(hybrid) >= 2 * FEWEST_EXAMPLES else DEFAULT_HYBRID,
        lexical=fit(every, start.lexical) if every else DEFAULT_LEXICAL,
        thresholds=await _thresholds(own, similarity),
        model=model,
        examples=len(every),
        answers=answers,
    )


async def _covered(search: Search, own: Sequence[str]) -> list[tuple[Ranking, bool]]:
    asked = [
        question for text in sample_sentences(own, MOST_EXAMPLES) if (question := keyword_question(text)) is not None
    ]
    return [(await search(question), True) for question in asked]


async def _not_covered(search: Search, others: Sequence[str], start: Calibration) -> list[tuple[Ranking, bool]]:
    """Questions the corpus does not cover. A field is skipped if most of its questions look covered."""
    found: list[tuple[Ranking, bool]] = []
    for name, questions in off_topic_questions().items():
        if is_held_out(name):
            continue
        rankings = [await search(question) for question in questions]
        likely = sorted(start.probability(ranking) for ranking in rankings)
        if likely[len(likely) // 2] < 0.5:
            found += [(ranking, False) for ranking in rankings]
    for text in sample_sentences([text for text in others if not is_held_out(text)], MOST_EXAMPLES):
        if (question := keyword_question(text, "other")) is not None:
            found.append((await search(question), False))
    return found


async def _thresholds(own: Sequence[str], similarity: SentenceSimilarity) -> Thresholds:
    """The similarity that two unrelated sentences hardly ever reach."""
    default = Thresholds()
    some = sample_sentences(own, 60)
    if similarity.embedder is None or len(some) < 20:
        return default
    await similarity.embed(some)
    found = [similarity.cosine(one, other) for place, one in enumerate(some) for other in some[place + 1 :]]
    cosines = sorted(cosine for cosine in found if cosine is not None)
    high = cosines[math.floor(0.98 * (len(cosines) - 1))]
    return replace(default, cosine=round(min(max(high, default.cosine - 0.1), default.cosine + 0.15), 4))


def stable_hash(text: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")


@dataclass(frozen=True, slots=True)
class Example:
    """The features of a question, and whether the corpus covers it."""

    features: Features
    covered: bool


def fit(examples: Sequence[Example], start: LogisticMap) -> LogisticMap:
    """Logistic regression by Newton's method: both classes weigh the same, and `start` is the prior."""
    rows: Floats = np.array([[float(getattr(each.features, name)) for name in start.features] for each in examples])
    target: Floats = np.array([1.0 if each.covered else 0.0 for each in examples])
    centres, scales = _measures(rows, target, start)
    standard: Floats = np.clip((rows - np.array(centres)) / np.array(scales), -5, 5)
    design: Floats = np.hstack([standard, np.ones((len(rows), 1))])
    share = float(target.mean())
    weight: Floats = np.where(target > 0, 0.5 / max(share, 1e-9), 0.5 / max(1 - share, 1e-9))
    prior: Floats = np.array([*start.weights, start.bias])
    hold: Floats = np.array([_HELD] * len(start.weights) + [_BIAS_HELD])

    def loss(value: Floats) -> float:
        logits: Floats = np.clip(design @ value, -40, 40)
        likelihood = float((weight * (np.log1p(np.exp(logits)) - target * logits)).sum())
        return likelihood + 0.5 * float((hold * (value - prior) ** 2).sum())

    value: Floats = prior.copy()
    for _ in range(_ROUNDS):
        guess: Floats = 1 / (1 + np.exp(-np.clip(design @ value, -40, 40)))
        slope: Floats = design.T @ (weight * (target - guess)) - hold * (value - prior)
        curve: Floats = (design * (weight * guess * (1 - guess))[:, None]).T @ design + np.diag(hold)
        step: Floats = np.linalg.solve(curve, slope)
        before = loss(value)
        while loss(value + step) > before and float(np.abs(step).max()) > 1e-6:
            step = step / 2
        value = value + step
        if float(np.abs(step).max()) < 1e-6:
            break
    weights = tuple(round(float(each), 6) for each in value[:-1])
    return LogisticMap(start.features, centres, scales, weights, round(float(value[-1]), 6))


_SLOPE_HELD: Final = 20.0
_SHIFT_HELD: Final = 4.0
_SUREST: Final = 0.99


def fit_answers(rated: Sequence[tuple[float, bool]]) -> AnswerAdjustment:
    """Move the confidence of answers towards how often readers found them helpful. A few ratings change little."""
    if not rated:
        return AnswerAdjustment()
    clamped: Floats = np.clip(np.array([number for number, _ in rated]), 1 - _SUREST, _SUREST)
    target: Floats = np.array([1.0 if helpful else 0.0 for _, helpful in rated])
    design: Floats = np.column_stack([np.log(clamped / (1 - clamped)), np.ones(len(rated))])
    prior, hold = np.array([1.0, 0.0]), np.array([_SLOPE_HELD, _SHIFT_HELD])
    value: Floats = prior.copy()
    for _ in range(_ROUNDS):
        guess: Floats = 1 / (1 + np.exp(-np.clip(design @ value, -40, 40)))
        slope: Floats = design.T @ (target - guess) - hold * (value - prior)
        curve: Floats = (design * (guess * (1 - guess))[:, None]).T @ design + np.diag(hold)
        step: Floats = np.linalg.solve(curve, slope)
        value = value + step
        if float(np.abs(step).max()) < 1e-6:
            break
    return AnswerAdjustment(round(max(float(value[0]), 0.0), 6), round(float(value[1]), 6), len(rated))


def _measures(rows: Floats, target: Floats, start: LogisticMap) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Centres and scales: those of `start`, except for features that depend on the size of the collection."""
    centres, scales = list(start.centres), list(start.scales)
    for place, name in enumerate(start.features):
        if name in _SIZED:
            column: Floats = rows[:, place]
            yes, no = column[target > 0], column[target == 0]
            centres[place] = round(float(yes.mean() + no.mean()) / 2, 6) if len(yes) and len(no) else centres[place]
            scales[place] = round(max(float(column.std()), 0.25), 6)
    return tuple(centres), tuple(scales)
