"""Measures validation: Pentad beside `jsonschema` and `jsonschema-rs` on the schema Pentad generates.

All three get the same parsed record and a prepared validator. The rivals only say yes; Pentad also gives warnings and
could give codes, places and repairs. CPU time, in turns, medians.
"""

from collections.abc import Callable
from importlib.metadata import version as installed
from statistics import median
from time import process_time
from typing import Any, Final, cast

import jsonschema
import jsonschema_rs

from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.table import Figure, Goal
from pentad.rooms.directory.oasf.json_schema import json_schema
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import EMBEDDED
from tests.rooms.directory.oasf.samples import sample

_SLOW: Final = f"jsonschema {installed('jsonschema')}"
_FAST: Final = f"jsonschema-rs {installed('jsonschema-rs')}"
_TURN: Final = 0.05
"""Seconds of CPU time each contestant gets in a round."""

_EXTRAS: Final = ("modules", "extensions", "domains", "annotations")


def validating(effort: Effort) -> list[Figure]:
    """The figures of validation."""
    figures: list[Figure] = []
    for version in EMBEDDED:
        say(f"Validating records of OASF {version} ...")
        complete = sample(version)
        small = {name: value for name, value in complete.items() if name not in _EXTRAS}
        schema = json_schema(version)
        slow, fast = cast("Any", jsonschema.Draft7Validator(schema)), jsonschema_rs.validator_for(schema)
        for name, record in (("complete record", complete), ("small record, with warnings", small)):
            ours, theirs, rust = _compared(record, [_is_valid, slow.is_valid, fast.is_valid], effort.rounds)
            row = f"OASF {version}, {name}"
            figures.append(_figure(row, ours, theirs, 50.0, _SLOW))
            figures.append(_figure(row, ours, rust, 1.0, _FAST))
    return sorted(figures, key=lambda figure: figure.against or "")


def _figure(row: str, ours: float, theirs: float, goal: float, rival: str) -> Figure:
    group = f"Validating a record, beside {rival}"
    return Figure(group, row, "records/s", 1 / ours, 1 / theirs, Goal("at least", goal), against=rival)


def _is_valid(record: dict[str, Any]) -> bool:
    return validate(record).valid


def _compared(record: dict[str, Any], contestants: list[Callable[[Any], bool]], rounds: int) -> list[float]:
    """Seconds of CPU time for one record, for each contestant."""
    if not all(contestant(record) for contestant in contestants):
        raise SystemExit("A validator under measurement refused a valid record.")
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(rounds):
        for spent, contestant in zip(times, contestants, strict=True):
            spent.append(_timed(contestant, record))
    return [median(spent) for spent in times]


def _timed(contestant: Callable[[Any], bool], record: dict[str, Any]) -> float:
    count = 0
    start = process_time()
    while (spent := process_time() - start) < _TURN:
        for _ in range(10):
            contestant(record)
        count += 10
    return spent / count
