"""JSON of an unexpected shape is a problem of one fact, never a failure of the whole answer."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.anypoint.engine import platform_engine
from tests.anypoint.recorded import ANSWERS, Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio
STRANGE: tuple[Any, ...] = (None, "x", -1.5, True, [], {}, ["x"], [None], {"x": [1]})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, below in inner:
        yield from places(below, (*path, name))


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return copy.deepcopy(to)
    found = copy.deepcopy(value)
    node = found
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = copy.deepcopy(to)
    return found


TRAPS: tuple[tuple[str, tuple[Any, ...], Any], ...] = (
    ("apis", (0, "apis"), {"x": [1]}), ("apis", (0, "apis", 0), -1.5), ("assets", (0, "rating"), "x"),
    ("environments", (1, "id"), None), ("fabrics", (0, "nodes"), "x"), ("queue_stats", ("messagesSent",), {"value": 1}),
)  # fmt: skip
"""What once made a formula fail, or would make a list of something that is none."""


def mutations(seed: int, number: int) -> Iterator[tuple[str, Any]]:
    """Some of all ways to put something strange somewhere into a stored answer."""
    yield from ((name, changed(ANSWERS[name], path, to)) for name, path, to in TRAPS)
    dice = random.Random(seed)
    everywhere = [(name, path) for name in ANSWERS if name != "hierarchy" for path in places(ANSWERS[name])]
    for name, path in dice.sample(everywhere, number):
        yield name, changed(ANSWERS[name], path, dice.choice(STRANGE))


@pytest.mark.requirement("metrics:anypoint:shapes")
@pytest.mark.parametrize("number", [4, pytest.param(12, marks=pytest.mark.interop)])
@pytest.mark.parametrize("how", [{}, {"compat": "legacy"}, {"raw": True}], ids=["figures", "legacy", "raw"])
async def test_a_strange_answer_takes_nothing_else_along(how: dict[str, Any], number: int) -> None:
    platform = Platform(Recorded())
    for name, answer in mutations(seed=3, number=number):
        platform.world = Recorded(**{name: answer})
        async with platform_engine(platform) as one:
            one.engine.pool.tries = 1
            for collector in one.engine.catalogue.ids():
                found = await one.ask(collector, recursive=False, **how)
                assert len(found.snapshot.tree) == 1, (name, answer)
