"""Fits an avatar's maps on its own corpus, without anybody's labels.

Questions that are covered are made from its own sentences: some of their telling words, as a person would ask with.
Those that are not are taken from other fields and from other avatars. The fit starts from the default map and is held
near it, so few examples change little. Everything is chosen by hashes: the same corpus gives the same maps.
"""

import hashlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from pentad.rooms.avatars.calibration import DEFAULT_HYBRID, DEFAULT_LEXICAL, Calibration
from pentad.rooms.avatars.context import telling_words
from pentad.rooms.avatars.likeness import Likeness
from pentad.rooms.avatars.off_topic import questions
from pentad.rooms.avatars.verification.aboutness import Thresholds
from pentad.search.documents import Ranking

MOST_EXAMPLES: Final = 160
FEWEST_EXAMPLES: Final = 12
MOST_MIXED: Final = 50
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

Search = Callable[[str], Awaitable[Ranking]]


def keyword_question(sentence: str, salt: str = "") -> str | None:
    """A question with some of a sentence's telling words; None if it has too few."""
    words = [word for word in telling_words(sentence) if len(word) > 2]
    if len(words) < 4:
        return None
    ranked = sorted(words, key=lambda word: _hash(f"{salt}{sentence}\x00{word}"))
    count = 2 + _hash(f"{salt}{sentence}") % 4
    kept = [word for word in words if word in ranked[:count]]
    if _hash(f"{salt}other{sentence}") % 5 < 3:  # people seldom ask in the words of the text alone
        kept.insert(1, _OTHER_WORDS[_hash(f"{salt}which{sentence}") % len(_OTHER_WORDS)])
    form = _FORMS[_hash(f"{salt}form{sentence}") % len(_FORMS)]
    return form.format(" and ".join(kept) if len(kept) < 3 else f"{' '.join(kept[:-1])} and {kept[-1]}")


def mixed_questions(own: Sequence[str]) -> list[str]:
    """Questions with words of three sentences that have nothing to do with each other: known words, no such passage.

    In a small corpus any words stand near each other, so there are none.
    """
    if len(own) < _LARGE:
        return []
    some = [words for text in sampled(own, 3 * MOST_MIXED) if len(words := telling_words(text)) > 4]
    third = len(some) // 3
    parts = zip(some[:third], some[third : 2 * third], some[2 * third :], strict=False)
    return [
        _FORMS[place % len(_FORMS)].format(" ".join(word for words in each for word in _one_or_two(words)))
        for place, each in enumerate(parts)
    ]


def _one_or_two(words: Sequence[str]) -> Sequence[str]:
    at = _hash(" ".join(words)) % (len(words) - 1)
    return words[at : at + 1 + at % 2]


def sampled(sentences: Sequence[str], most: int) -> list[str]:
    """Some of them, chosen by hash."""
    return sorted(dict.fromkeys(sentences), key=lambda text: (_hash(text), text))[:most]


async def fitted(
    search: Search,
    own: Sequence[str],
    others: Sequence[str],
    likeness: Likeness,
    model: str | None,
    start: Calibration | None = None,
) -> Calibration:
    """The calibration of a corpus with these sentences; `others` are sentences of other avatars."""
    from pentad.rooms.avatars.regression import Example, fit

    start = start or Calibration()
    examples = [
        *await _covered(search, own),
        *await _not_covered(search, others, start),
        *[(await search(question), False) for question in mixed_questions(own)],
    ]
    hybrid = [Example(ranking.features, covered) for ranking, covered in examples if ranking.retrieval == "hybrid"]
    every = [Example(ranking.features, covered) for ranking, covered in examples]
    if sum(covered for _, covered in examples) < FEWEST_EXAMPLES:
        return replace(start, model=model)
    return Calibration(
        hybrid=fit(hybrid, start.hybrid) if len(hybrid) >= 2 * FEWEST_EXAMPLES else DEFAULT_HYBRID,
        lexical=fit(every, start.lexical) if every else DEFAULT_LEXICAL,
        thresholds=await _thresholds(own, likeness),
        model=model,
        examples=len(every),
    )


async def _covered(search: Search, own: Sequence[str]) -> list[tuple[Ranking, bool]]:
    asked = [question for text in sampled(own, MOST_EXAMPLES) if (question := keyword_question(text)) is not None]
    return [(await search(question), True) for question in asked]


async def _not_covered(search: Search, others: Sequence[str], start: Calibration) -> list[tuple[Ranking, bool]]:
    """Questions from elsewhere; a field most of whose questions look covered is taken for the corpus' own."""
    by_field: dict[str, list[Ranking]] = {}
    for name, question in questions():
        by_field.setdefault(name, []).append(await search(question))
    found: list[tuple[Ranking, bool]] = []
    for rankings in by_field.values():
        likely = sorted(start.probability(ranking) for ranking in rankings)
        if likely[len(likely) // 2] < 0.5:
            found += [(ranking, False) for ranking in rankings]
    for text in sampled(others, MOST_EXAMPLES):
        if (question := keyword_question(text, "other")) is not None:
            found.append((await search(question), False))
    return found


async def _thresholds(own: Sequence[str], likeness: Likeness) -> Thresholds:
    """What two sentences that have nothing to do with each other hardly ever reach."""
    default = Thresholds()
    some = sampled(own, 60)
    if likeness.embedder is None or len(some) < 20:
        return default
    await likeness.learn(some)
    found = [likeness.cosine(one, other) for place, one in enumerate(some) for other in some[place + 1 :]]
    cosines = sorted(cosine for cosine in found if cosine is not None)
    high = cosines[math.floor(0.98 * (len(cosines) - 1))]
    return replace(default, cosine=round(min(max(high, default.cosine - 0.1), default.cosine + 0.15), 4))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big")
