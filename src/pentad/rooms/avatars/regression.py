"""Logistic regression over the features of retrievals. Imported only where a map is fitted: it computes with numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pentad.rooms.avatars.calibration import LogisticMap
from pentad.search.documents import Features

Floats = NDArray[np.floating[Any]]

_HELD: Final = 60.0
"""How strongly a fit is held to where it starts, in examples."""
_BIAS_HELD: Final = 9.0
_SIZED: Final = frozenset(("missing_idf", "query_terms"))
_ROUNDS: Final = 50


@dataclass(frozen=True, slots=True)
class Example:
    """The features of a question, and whether the corpus covers it."""

    features: Features
    covered: bool


def fit(examples: Sequence[Example], start: LogisticMap) -> LogisticMap:
    """Logistic regression by Newton's method, both classes with the same total weight, held to the starting map."""
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


def _measures(rows: Floats, target: Floats, start: LogisticMap) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Centres and scales: as they start, but for features whose size depends on the collection's."""
    centres, scales = list(start.centres), list(start.scales)
    for place, name in enumerate(start.features):
        if name in _SIZED:
            column: Floats = rows[:, place]
            yes, no = column[target > 0], column[target == 0]
            centres[place] = round(float(yes.mean() + no.mean()) / 2, 6) if len(yes) and len(no) else centres[place]
            scales[place] = round(max(float(column.std()), 0.25), 6)
    return tuple(centres), tuple(scales)
