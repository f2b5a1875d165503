"""Confidence intervals of 95 % for the figures of a score card. The same cases give the same interval."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
Interval = tuple[float, float]

_Z: Final = 1.959964
_ROUNDS: Final = 400
_TAIL: Final = 0.025


def share_interval(value: float, of: int) -> Interval:
    """Wilson's interval of a share; it is honest for few cases and for shares near 0 and 1."""
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
    """The interval of any figure, by drawing the cases again and again (bootstrap)."""
    if not cases:
        return 0.0, 1.0
    draw = random.Random(len(cases))  # noqa: S311  statistics, not secrets
    found = sorted(figure(draw.choices(cases, k=len(cases))) for _ in range(_ROUNDS))
    last = len(found) - 1
    return _within(found[math.floor(_TAIL * last)], found[math.ceil((1 - _TAIL) * last)])


def _within(low: float, high: float) -> Interval:
    return round(max(0.0, low), 4), round(min(1.0, high), 4)
