"""The items behind figures: as many as the figure counts, for every figure that has items."""

from collections import defaultdict
from typing import Any

import pytest

from pentad.rooms.metrics.collectors.contract import ListsItems
from pentad.rooms.metrics.engine.query_engine import build_query
from pentad.rooms.metrics.models import Item, Labels
from tests.anypoint.engine import PlatformEngine, platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.recorded import Recorded
from tests.anypoint.server import Platform
from tests.anypoint.world import CANARY, Size, World

pytestmark = pytest.mark.anyio

SUMS = {
    "vcoresUsed": "vcores", "contracts": "contracts", "transactions": "requests", "coresReserved": "cores",
    "memoryReserved": "memory", "coresTotal": "cores", "memoryTotal": "memory",
    **{name: name for name in ("messagesSent", "messagesReceived", "messagesAck", "messagesInFlight")},
    **{name: name for name in ("messagesPublished", "messagesDelivered")},
}  # fmt: skip
"""Figures that add up a detail of their things."""
MEANS = {"overallSatisfaction": "rating"}
"""Figures that are the mean of a detail."""
DISTINCT = {"runtimesUsedTotal": "runtime", "apiVersions": "version"}
LISTS = {"runtimesUsed": "runtime", "policiesUsed": "policies", "policiesUsedTotal": "policies"}


async def everything(one: PlatformEngine, collector: str) -> tuple[dict[tuple[str, Labels], Any], list[Item]]:
    chosen = one.engine.catalogue.find(collector)
    assert isinstance(chosen, ListsItems)
    query = build_query(chosen.info(), one.engine.clock, keys=chosen.item_keys())
    answer = await one.ask(collector, chosen.item_keys())
    return {(sample.key, sample.labels): sample.value for sample in answer.snapshot.samples}, list(
        chosen.items(query, answer.facts)
    )


def figure(key: str, items: list[Item]) -> Any:
    """The figure worked out from its things."""
    name = key.rpartition(".")[2]
    details = [dict(item.details) for item in items]
    if name in SUMS:
        return pytest.approx(sum(one.get(SUMS[name]) or 0 for one in details))
    if name in MEANS or ".reuse." in f".{key}":
        column = MEANS.get(name, "uses")
        return pytest.approx(sum(one[column] for one in details) / len(details)) if details else 0
    if name in DISTINCT:
        return len({one[DISTINCT[name]] for one in details})
    if name in LISTS:
        listed = [one[LISTS[name]] for one in details]
        flat = [entry for one in listed for entry in (one if isinstance(one, list) else [one])]
        distinct = list(dict.fromkeys(flat))
        return len(distinct) if name.endswith("Total") else distinct
    return len(items)


WORLDS = {
    "recorded": Recorded,
    "varied": lambda: World(
        Size(groups=2, environments=3, applications=7, assets=18, deployments=5, destinations=5, regions=2)
    ),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("collector", ["core", "ch", "apm", "apma", "apc", "dc", "ex", "arm", "rtf", "amq"])
@pytest.mark.requirement("metrics:questions:items")
async def test_every_figure_with_names_is_what_its_things_make_it(collector: str, world: str) -> None:
    async with platform_engine(Platform(WORLDS[world]())) as one:
        figures, items = await everything(one, collector)
    whole: dict[tuple[str, Labels], list[Item]] = defaultdict(list)
    for item in items:
        group = tuple(label for label in item.labels if label[0].startswith("businessGroup"))
        for labels in {item.labels, group}:
            whole[item.key, labels].append(item)
    assert figures
    for (key, labels), value in figures.items():
        if value is None:
            assert whole[key, labels] == [], "what is missing has no names"
        else:
            assert value == figure(key, whole[key, labels]), (key, labels)
    assert CANARY not in repr(items)


@pytest.mark.requirement("metrics:questions:items")
async def test_names_are_of_what_could_be_read_and_the_figure_says_it_is_partial() -> None:
    world = World(Size(environments=2))
    live, trial = (env["id"] for env in world.environments(world.root) if env["type"] != "design")
    async with platform_engine(Platform(world, faults=[Fault("applications", status=403, where=trial)])) as one:
        figures, items = await everything(one, "ch")
        assert {dict(item.labels)["environmentName"] for item in items} == {"Live"}
        assert live
        missing = [key for (key, labels), value in figures.items() if value is None and "Trial" in str(labels)]
        assert missing
