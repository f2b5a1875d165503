"""JSON of an unexpected shape is a problem of one fact, never a failure of the whole answer."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.anypoint.engine import USER, PlatformEngine, platform_engine
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


ANSWERS_OF: dict[str, tuple[str, ...]] = {
    "core": ("environments", "members"), "ch": ("hierarchy", "usage", "applications"),
    "ex": ("assets", "dependencies"), "apm": ("apis", "policies"), "ap": ("automated",), "dc": ("projects",),
    "arm": ("deployments", "deployment"), "rtf": ("fabrics",), "apma": ("analytics",),
    "amq": ("regions", "destinations", "queue_stats", "exchange_stats"), "osv2": ("store_stats",),
}  # fmt: skip
"""The answers behind the figures of each collector."""
MAY_LACK = {
    "name": "a label", "id": "not of every list; those that need it have a test of their own",
    "lastLogin": "never logged in", "lastActiveDate": "never called", "activeContractsCount": "not counted, by design",
    "rating": "not rated", "numberOfRates": "not rated", "region": "not filtered by", "fifo": "an ordinary queue",
    "inflightMessages": "no messages", "messagesSent": "no messages", "messagesReceived": "no messages",
    "messagesAcked": "no messages", "messagesPublished": "no messages", "messagesDelivered": "no messages",
    "dependencies": "none", "reassigned": "nothing passed on",
}  # fmt: skip
"""What the platform may leave out, and what that means."""


def damaged(name: str) -> Iterator[tuple[Any, ...]]:
    """A stored answer with one member of the first entries missing, null or of another kind: how, and the answer."""
    for path in places(ANSWERS[name]):
        if not path or any(isinstance(step, int) and step for step in path):
            continue
        if (name == "hierarchy" and path[0] != "entitlements") or (name == "assets" and path[-1] == "type"):
            continue  # the fake platform itself needs these
        *above, last = path
        if isinstance(last, str) and last not in MAY_LACK and not last.strip("d0-").isdigit():  # no ids
            without = copy.deepcopy(ANSWERS[name])
            node = without
            for step in above:
                node = node[step]
            del node[last]
            yield "lacks", path, without
            yield "has null at", path, changed(ANSWERS[name], path, None)
        for strange in ([1], {"x": [1]}, "x"):
            old = ANSWERS[name]
            for step in path:
                old = old[step]
            if type(old) is not type(strange) and old is not None:
                yield f"has {strange!r} at", path, changed(ANSWERS[name], path, strange)


async def figures(one: PlatformEngine, collector: str) -> tuple[dict[Any, Any], bool]:
    """The figures by key and labels; those in doubt are left out. And whether there are problems."""
    answer = await one.ask(collector, recursive=False, fresh=True)
    samples = [sample for sample in answer.snapshot.samples if sample.state == "ok"]
    return {(sample.key, sample.labels): sample.value for sample in samples}, bool(answer.snapshot.problems)


@pytest.mark.requirement("metrics:anypoint:no-smaller-figure")
@pytest.mark.parametrize("collector", ANSWERS_OF)
async def test_what_an_answer_lacks_makes_no_figure_smaller(collector: str) -> None:
    """A member that is missing or of another kind: the figures that need it say so, or there is a problem."""
    platform = Platform(Recorded())
    wrong: list[Any] = []
    async with platform_engine(platform, USER) as one:
        one.engine.pool.tries = 1
        truth, has_problems = await figures(one, collector)
        assert truth
        assert not has_problems
        for name in ANSWERS_OF[collector]:
            for how, path, answer in damaged(name):
                platform.world = Recorded(**{name: answer})
                found, has_problems = await figures(one, collector)
                different = {place: value for place, value in found.items() if truth.get(place, value) != value}
                if different and not has_problems:
                    wrong.append((name, how, path, different))
    assert wrong == []


@pytest.mark.requirement("metrics:anypoint:no-smaller-figure")
async def test_an_error_of_analytics_is_no_answer_without_requests() -> None:
    platform = Platform(Recorded(analytics={"success": False, "error": "busy", "response": []}))
    async with platform_engine(platform, USER) as one:
        samples = (await one.ask("apma", recursive=False)).snapshot.samples
        assert samples
        assert all((sample.value, sample.state) == (None, "failed") for sample in samples)
        platform.world = Recorded(analytics={"success": True, "error": None, "response": []})
        samples = (await one.ask("apma", recursive=False, fresh=True)).snapshot.samples
    assert all((sample.value, sample.state) == (0, "ok") for sample in samples)


@pytest.mark.requirement("metrics:anypoint:no-smaller-figure")
async def test_a_sandbox_that_is_called_design_is_asked_for_its_requests_too() -> None:
    environments = copy.deepcopy(ANSWERS["environments"])
    environments[-1] |= {"name": "Design", "type": "sandbox", "isProduction": False}
    async with platform_engine(Platform(Recorded(environments=environments)), USER) as one:
        answer = await one.ask("apma", "apis.sandbox.transactions", recursive=False, environments="Design")
    assert [sample.value for sample in answer.snapshot.samples] == [150, 150]
