"""Keys of the toolkit that have moved by default: the docs list all of them with their new places."""

import re
from pathlib import Path
from typing import Any

import pytest

from pentad.rooms.metrics.collectors.anypoint.legacy import FACTS
from pentad.rooms.metrics.metric_keys import flatten
from tests.anypoint.engine import USER, PlatformEngine, platform_engine
from tests.anypoint.server import Platform
from tests.anypoint.world import Size, World

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parents[5] / "docs" / "metrics.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| `([\w.*]+)` \| the same key of `(\w+)` \|$", re.MULTILINE)
BESIDE = ("date", "errors", "states")


async def paths(one: PlatformEngine, collector: str, compat: str | None) -> set[str]:
    answer = await one.ask(collector, compat=compat)
    tree: list[dict[str, Any]] = answer.snapshot.tree
    return {
        match.path
        for entry in tree
        for match in flatten({name: value for name, value in entry.items() if name not in BESIDE})
        if not match.path.endswith("details")
    }


def covers(pattern: str, path: str) -> bool:
    steps, given = pattern.split("."), path.replace(".details", "").split(".")
    return len(given) >= len(steps) and all(step in ("*", name) for step, name in zip(steps, given, strict=False))


@pytest.mark.requirement("metrics:legacy:moved")
async def test_the_page_lists_every_key_that_moved_and_where_it_is() -> None:
    rows = ROW.findall(PAGE)
    assert rows
    used: set[tuple[str, str, str]] = set()
    async with platform_engine(Platform(World(Size(environments=2))), USER) as one:
        for collector in FACTS:
            current = await paths(one, collector, None)
            for path in await paths(one, collector, "legacy") - current:
                fitting = [row for row in rows if row[0] == collector and covers(row[1], path)]
                assert fitting, f"{collector}: {path} is not on the page"
                used.update(fitting)
                assert path in await paths(one, fitting[0][2], None), f"{path} is not in {fitting[0][2]}"
    assert used == set(rows), "nothing on the page is left over"
