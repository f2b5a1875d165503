"""Collectors from entry points, next to Pentad's own."""

from pathlib import Path

import pytest

from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext
from pentad.rooms.metrics.engine import catalogue
from pentad.rooms.metrics.engine.catalogue import FIRST, Catalogue
from pentad.rooms.metrics.room import ROOM
from pentad.rooms.metrics.settings import MetricsSettings
from tests.rooms.metrics.collectors.opening import opened
from tests.rooms.metrics.toys import Toy


def toys(source: CollectorContext) -> list[Collector]:
    return [Toy()]


def impostor(source: CollectorContext) -> list[Collector]:
    toy = Toy()
    toy.id = "host"
    return [toy]


def broken(source: CollectorContext) -> list[Collector]:
    raise RuntimeError("no")


@pytest.mark.anyio
@pytest.mark.requirement("metrics:collectors:own")
async def test_own_and_foreign_collectors_are_found_and_a_broken_one_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    points = {"toys": "toys", "bad": "broken", "gone": "missing", "thief": "impostor"}
    own = catalogue.load
    monkeypatch.setattr(catalogue, "entry_points", lambda group: points)
    monkeypatch.setattr(catalogue, "load", lambda name: own(name) if ":" in name else globals()[name])
    async with opened(tmp_path) as room:
        found = catalogue.find_collectors(CollectorContext(room.app.platform(ROOM), MetricsSettings()))
    ids = [collector.id for collector in found]
    assert {"host", "pentad", "prometheus", "postgres", "http_json", "toy"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert {collector.id: type(collector).__name__ for collector in found}["host"] == "Host"
    said = caplog.text
    assert "bad cannot be created" in said
    assert "gone cannot be loaded" in said
    assert "two collectors 'host'" in said


def test_the_promised_ids_come_first_in_their_order():
    made = []
    for name in ("zebra", *reversed(FIRST), "apm"):
        toy = Toy()
        toy.id = name
        made.append(toy)
    assert Catalogue(made).ids() == [*FIRST, "apm", "zebra"]
