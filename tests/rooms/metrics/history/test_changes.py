"""Changes over all collectors: the largest first, each listed once."""

import pytest

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.changes import Change, Values, compare_values, without_explained
from pentad.rooms.metrics.history.metric_history import MetricHistory
from pentad.rooms.metrics.models import Info, Labels
from tests.rooms.metrics.history.samples import INFO, NOON, record, snapshot
from tests.rooms.metrics.sources import TurnedClock
from tests.rooms.metrics.toys import Toy

GROUP: Labels = (("businessGroup", "Mill"), ("businessGroupId", "m"))
LIVE: Labels = (*GROUP, ("environmentName", "Live"), ("environmentType", "Production"))


class Recorded(Toy):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.id = name

    def info(self) -> Info:
        return Info(id=self.id, title=self.id, description="", catalogue=INFO.catalogue)


@pytest.mark.requirement("metrics:questions:changes")
def test_from_nothing_to_something_is_a_large_change_and_counters_come_last() -> None:
    before, after = {"a": 0, "b": 100, "c": 1, "d": 4}, {"a": 5, "b": 150, "c": 900, "d": 1}

    def values(given: dict[str, int]) -> Values:
        return {(key, ()): (value, "ok", None, "counter" if key == "c" else "gauge") for key, value in given.items()}

    assert [one.key for one in compare_values(values(before), values(after))] == ["a", "d", "b", "c"]


@pytest.mark.requirement("metrics:questions:changes")
def test_a_total_that_its_environments_explain_is_told_once() -> None:
    whole = Change(key="apps", labels=GROUP, what="changed", before=4, after=6, delta=2)
    part = Change(key="apps", labels=LIVE, what="changed", before=1, after=3, delta=2)
    other = Change(key="apps", labels=LIVE, what="changed", before=1, after=2, delta=1)
    assert without_explained([whole, part]) == [part]
    assert without_explained([whole, other]) == [whole, other], "the rest of the change is elsewhere"


@pytest.mark.anyio
@pytest.mark.requirement("metrics:questions:changes")
async def test_all_collectors_are_compared_and_those_without_a_record_are_named(past: Database) -> None:
    first, second = Recorded("toy"), Recorded("late")
    await record(past, first.info(), snapshot(NOON, used=10, busy=50))
    await record(past, first.info(), snapshot(NOON + 60, used=40, busy=55))
    late = snapshot(NOON + 60, used=1)
    late.collector = "late"
    await record(past, second.info(), late)
    history = MetricHistory(past, TurnedClock(NOON + 120), Catalogue([first, second]), {})
    found = await history.changes((), NOON + 1, NOON + 61)
    assert [(one.collector, one.key, one.delta) for one in found.changes] == [("toy", "used", 30), ("toy", "busy", 5)]
    assert found.unrecorded == ["late"]
    only = await history.changes((), NOON + 1, NOON + 61, keys=["busy"])
    assert [one.key for one in only.changes] == ["busy"]


@pytest.mark.anyio
@pytest.mark.requirement("metrics:questions:changes")
async def test_nothing_recorded_is_no_error_unless_a_collector_is_named(past: Database) -> None:
    toy = Recorded("toy")
    history = MetricHistory(past, TurnedClock(NOON + 120), Catalogue([toy]), {})
    found = await history.changes((), NOON, NOON + 60)
    assert (found.changes, found.unrecorded) == ([], [])
    assert not await history.has_record_of(NOON)
    await record(past, toy.info(), snapshot(NOON, used=10))
    assert await history.has_record_of(NOON)
    assert (await history.changes((), NOON - 60, NOON)).unrecorded == ["toy"]
    with pytest.raises(NotFound, match="no record from that time"):
        await history.changes(["toy"], NOON - 60, NOON)
