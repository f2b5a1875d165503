"""The figures of an evaluation: each with its cases, its goal and its 95 % confidence interval.

The same cases always give the same interval.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean

Group = Literal["retrieval", "answer", "abstention", "calibration", "mutation", "questions"]
_BINS: Final = 10
FIGURES: Final = (
    *(f"retrieval.{name}" for name in ("first", "five", "mrr")),
    *(f"answer.{name}" for name in ("first_quote", "any_quote", "high", "high_right")),
    *(f"abstention.{name}" for name in ("own", "foreign", "auroc", "left_out")),
    *(f"calibration.{name}" for name in ("coverage", "answers")),
    *(f"mutation.{name}" for name in ("true", "shortened", "paraphrased")),
    *(f"mutation.{name}" for name in ("number", "quote", "citation", "name", "swap", "clause", "negation")),
    *(f"questions.{name}" for name in ("first_quote", "any_quote", "refused", "high", "high_right")),
    *(f"questions.{name}" for name in ("unanswerable", "unanswerable_high", "calibration", "auroc")),
)
"""The ids of all figures. A small corpus may lack some; those of `questions` need an author's questions."""
T = TypeVar("T")
Interval = tuple[float, float]
_Z: Final = 1.959964
_ROUNDS: Final = 400
_TAIL: Final = 0.025


@dataclass(frozen=True, slots=True)
class Line:
    """One figure over `of` cases. Goals refer to its `id`. The goal is a minimum, or with `at_most` a maximum."""

    id: str
    name: str
    value: float
    of: int
    interval: Interval
    goal: float | None = None
    at_most: bool = False

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]

    @property
    def passed(self) -> bool:
        if self.goal is None:
            return True
        value = round(self.value, 4)
        return value <= self.goal if self.at_most else value >= self.goal

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "id": self.id, "group": self.group, "name": self.name, "value": round(self.value, 4), "of": self.of,
            "low": low, "high": high, "goal": self.goal, "at_most": self.at_most, "passed": self.passed,
        }  # fmt: skip


@dataclass(slots=True)
class ScoreCard:
    """All figures of one avatar, for one generation of its corpus."""

    avatar: str
    retrieval: str
    generation: int
    lines: list[Line] = field(default_factory=list[Line])
    notes: list[str] = field(default_factory=list[str])

    @property
    def passed(self) -> bool:
        return all(line.passed for line in self.lines)

    def with_goals(self, goals: Mapping[str, float]) -> "ScoreCard":
        """The same figures with other goals, by id. A goal for a figure that is not on the card is an error."""
        known = sorted({line.id for line in self.lines})
        for name in goals:
            _check_figure(name, known)
        lines = [replace(line, goal=goals.get(line.id, line.goal)) for line in self.lines]
        return replace(self, lines=lines)

    def as_json(self) -> dict[str, Any]:
        return {
            "avatar": self.avatar, "retrieval": self.retrieval, "generation": self.generation, "passed": self.passed,
            "lines": [line.as_json() for line in self.lines], "notes": self.notes,
        }  # fmt: skip


def read_goals(given: Sequence[str], *, with_questions: bool) -> dict[str, float]:
    """Goals written as `mutation.swap=0.9`. Figures that the evaluation cannot have are refused."""
    known = [name for name in FIGURES if with_questions or not name.startswith("questions.")]
    goals: dict[str, float] = {}
    for text in given:
        name, sign, value = text.partition("=")
        try:
            goal = float(value)
        except ValueError:
            goal = -1.0
        if not sign or not 0 <= goal <= 1:
            raise InvalidInput(f"{text[:80]!r} is not a goal.", hint="Write ID=NUMBER from 0 to 1: mutation.swap=0.9")
        _check_figure(name.strip(), known)
        goals[name.strip()] = goal
    return goals


def _check_figure(name: str, known: Sequence[str]) -> None:
    if name not in known:
        hint = " ".join(filter(None, (did_you_mean(name, known), f"There are {', '.join(known)}.")))
        raise InvalidInput(f"The evaluation has no figure {name[:60]!r}.", hint=hint)


def share(id_: str, name: str, hits: float, of: int, goal: float | None = None, *, at_most: bool = False) -> Line:
    """A share of cases. Without cases it has no goal."""
    value = hits / of if of else 0.0
    return Line(id_, name, value, of, share_interval(value, of), goal if of else None, at_most)


def mean(id_: str, name: str, values: Sequence[float], goal: float | None = None) -> Line:
    return Line(id_, name, _mean(values), len(values), resampled_interval(values, _mean), goal)


def separation(id_: str, name: str, yes: Sequence[float], no: Sequence[float], goal: float | None = None) -> Line:
    """How often a case of one kind gets a higher number than one of the other (AUROC)."""
    value = auroc(yes, no)
    return Line(id_, name, value, len(yes) + len(no), auroc_interval(value, len(yes), len(no)), goal)


def calibration(id_: str, name: str, tried: Sequence[tuple[float, bool]], goal: float | None = None) -> Line:
    interval = resampled_interval(tried, calibration_error)
    return Line(id_, name, calibration_error(tried), len(tried), interval, goal if tried else None, at_most=True)


def calibration_error(tried: Sequence[tuple[float, bool]], bins: int = _BINS) -> float:
    """Expected calibration error: how far probabilities are from how often they come true, over equal ranges."""
    sums = [0.0] * bins
    for value, true in tried:
        sums[min(int(value * bins), bins - 1)] += value - true
    return sum(map(abs, sums)) / len(tried) if tried else 0.0


def auroc(yes: Sequence[float], no: Sequence[float]) -> float:
    """The share of pairs in which the first is higher; equal ones count half."""
    if not yes or not no:
        return 0.0
    higher = sum(1.0 if one > other else 0.5 if one == other else 0.0 for one in yes for other in no)
    return higher / (len(yes) * len(no))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def share_interval(value: float, of: int) -> Interval:
    """Wilson's interval of a share, which is reliable for few cases and for shares near 0 and 1."""
    if not of:
        return 0.0, 1.0
    square = _Z * _Z
    middle = (value + square / (2 * of)) / (1 + square / of)
    spread = _Z / (1 + square / of) * math.sqrt(value * (1 - value) / of + square / (4 * of * of))
    return _within(middle - spread, middle + spread)


def auroc_interval(value: float, positives: int, negatives: int) -> Interval:
    """The interval of an area under the curve, by Hanley and McNeil."""
    if not positives or not negatives:
        return 0.0, 1.0
    one, two = value / (2 - value), 2 * value * value / (1 + value)
    square = value * value
    variance = value * (1 - value) + (positives - 1) * (one - square) + (negatives - 1) * (two - square)
    spread = _Z * math.sqrt(max(variance, 0.0) / (positives * negatives))
    return _within(value - spread, value + spread)


def resampled_interval(cases: Sequence[T], figure: Callable[[Sequence[T]], float]) -> Interval:
    """The interval of any figure, by resampling the cases (bootstrap)."""
    if not cases:
        return 0.0, 1.0
    draw = random.Random(len(cases))  # noqa: S311  statistics, not secrets
    found = sorted(figure(draw.choices(cases, k=len(cases))) for _ in range(_ROUNDS))
    last = len(found) - 1
    return _within(found[math.floor(_TAIL * last)], found[math.ceil((1 - _TAIL) * last)])


def _within(low: float, high: float) -> Interval:
    return round(max(0.0, low), 4), round(min(1.0, high), 4)
