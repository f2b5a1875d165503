"""Fits the weights of `answers/confidence.py`: `python -m benchmarks.avatars.fitting NAME... --data FOLDER`.

Asks the questions of corpora that were ingested into the data folder before, and fits what the answers show to whether
a quote has the answer. Each corpus is also judged by weights fitted without it. Never run it on a corpus for testing.
"""

import argparse
import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import say
from pentad.app import open_app
from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline, Draft, Plan
from pentad.rooms.avatars.answers.confidence import MEDIUM, WEIGHTS, Grounds
from pentad.rooms.avatars.evaluation.author_questions import Asked, AuthorQuestion, read_questions
from pentad.rooms.avatars.evaluation.score_card import calibration_error
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import Settings

QUESTIONS: Final = Path(__file__).parent / "questions"
_HELD: Final = 2.0
_ROUNDS: Final = 100
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Recording(AnswerPipeline):
    """A pipeline that keeps the grounds of its answers."""

    kept: list[Grounds] = field(default_factory=list[Grounds])

    def grounds(self, plan: Plan, draft: Draft) -> Grounds:
        found = AnswerPipeline.grounds(self, plan, draft)
        self.kept.append(found)
        return found


@dataclass(frozen=True, slots=True)
class Example:
    """What an answer showed, and whether it was right; without grounds if there was none."""

    asked: Asked
    grounds: Grounds | None

    @property
    def right(self) -> bool:
        return self.asked.right()


async def ask(avatars: Avatars, name: str, questions: Sequence[AuthorQuestion]) -> list[Example]:
    avatar = await avatars.open(name)
    found: list[Example] = []
    for question in questions:
        pipeline = Recording(avatar, avatars.similarity)
        answer = await pipeline.answer(question.question)
        found.append(Example(Asked(question, answer), pipeline.kept[0] if pipeline.kept else None))
    return found


def fit(examples: Sequence[Example], start: Sequence[float] = WEIGHTS) -> list[float]:
    """Logistic regression that is pulled towards the present weights."""
    used = [(one.grounds.features, one.right) for one in examples if one.grounds is not None]
    rows: Floats = np.array([features for features, _ in used])
    target: Floats = np.array([1.0 if right else 0.0 for _, right in used])
    prior: Floats = np.array(start)
    value: Floats = prior.copy()
    for _ in range(_ROUNDS):
        guess: Floats = 1 / (1 + np.exp(-np.clip(rows @ value, -40, 40)))
        slope: Floats = rows.T @ (target - guess) - _HELD * (value - prior)
        curve: Floats = (rows * (guess * (1 - guess))[:, None]).T @ rows + _HELD * np.eye(len(prior))
        value = value + np.linalg.solve(curve, slope)
    return [round(float(each), 2) for each in value]


def judged(examples: Sequence[Example], weights: Sequence[float]) -> str:
    """How these weights judge a corpus: near misses below medium, and right answers below medium."""
    numbers = [
        (1 / (1 + np.exp(-float(np.dot(one.grounds.features, weights)))) if one.grounds else 0.0, one)
        for one in examples
    ]
    misses = [number < MEDIUM for number, one in numbers if not one.asked.answerable]
    lost = [number < MEDIUM for number, one in numbers if one.right]
    high = [one.right for _, one in numbers if one.asked.answer.confidence == "high"]
    error = calibration_error([(number, one.right) for number, one in numbers if one.grounds is not None])
    return (
        f"near misses low {sum(misses)} of {len(misses)}, right answers low {sum(lost)} of {len(lost)},"
        f" high and right {sum(high)} of {len(high)}, calibration error {error:.3f}"
    )


async def run(names: Sequence[str], data: Path, models: Path | None, *, verbose: bool) -> None:
    settings = Settings(data=data, rooms=("avatars",), models=models)
    async with open_app(settings) as app:
        service = app.rooms[0].service
        assert isinstance(service, Avatars)
        found = {
            name: await ask(service, name, read_questions((QUESTIONS / f"{name}.json").read_bytes())) for name in names
        }
    for name, examples in found.items():
        others = [one for other, listed in found.items() if other != name for one in listed]
        say(f"{name}: {judged(examples, WEIGHTS)}")
        if others:
            say(f"  fitted on the others: {judged(examples, fit(others))}")
        for one in examples if verbose else ():
            answer, asked = one.asked.answer, one.asked
            kind = "no" if not asked.answerable else "first" if asked.right(1) else "any" if one.right else "wrong"
            say(f"  {kind:6}{answer.confidence:7}{answer.confidence_score:.3f} {asked.question.question}")
            if one.grounds is not None:
                say(f"      {tuple(round(value, 2) for value in one.grounds.features)} {one.grounds.signs}")
            for citation in answer.citations[:3]:
                say(f"      {' '.join(citation.quote.split())[:200]}")
    say(f"weights: {fit([one for listed in found.values() for one in listed])}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.avatars.fitting", description=__doc__)
    parser.add_argument("name", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    models = Path(os.environ["PENTAD_MODELS"]) if "PENTAD_MODELS" in os.environ else None
    asyncio.run(run(given.name, given.data, models, verbose=given.verbose))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
