"""Time without data is a gap with a reason: recorded, kept by roll-ups, in every chart, and never drawn as data."""

from typing import Any, cast

import pytest

from pentad.kernel.charts import svg_chart
from pentad.kernel.ports import Database
from pentad.rooms.metrics.collectors.contract import Collector
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.collector_health import PollOutcome
from pentad.rooms.metrics.history.history_lines import HistoryLine
from pentad.rooms.metrics.history.metric_history import MetricHistory
from pentad.rooms.metrics.history.retention import Retention, roll_up_all
from pentad.rooms.metrics.interface.presentation import history_chart, line_chart, line_view
from pentad.rooms.metrics.models import Info, Snapshot
from pentad.rooms.metrics.store import DAY, Gap
from tests.rooms.metrics.history.samples import INFO, NOON, snapshot
from tests.rooms.metrics.sources import TurnedClock
from tests.rooms.metrics.toys import Toy

pytestmark = pytest.mark.anyio
EVERY = 60.0


class Told(Toy):
    def info(self) -> Info:
        return INFO


class Polled:
    """The history of a collector that is polled every minute."""

    def __init__(self, database: Database) -> None:
        told: Collector = Told()
        self.clock = TurnedClock(NOON)
        self.history = MetricHistory(database, self.clock, Catalogue([told]), {}, {"toy": EVERY})
        self.database = database

    async def poll(self, after: float, shot: Snapshot | None = None, **values: float) -> None:
        self.clock.turn(after)
        found = shot or snapshot(self.clock.now(), **cast("dict[str, Any]", values))
        await self.history.record_poll(INFO, found, PollOutcome(scope="", state="ok", at=self.clock.now()))

    async def fail(self, after: float) -> None:
        self.clock.turn(after)
        await self.history.record_failure(INFO, PollOutcome(scope="", state="failing", at=self.clock.now()))

    async def line(self, key: str, begin: float = NOON - 60, end: float | None = None) -> HistoryLine:
        found = await self.history.lines("toy", [key], begin, end or self.clock.now() + 1)
        (line,) = found.lines
        return line


@pytest.fixture
def polled(past: Database) -> Polled:
    return Polled(past)


@pytest.mark.requirement("metrics:gaps")
async def test_a_failed_poll_is_a_gap_until_there_is_a_number_again(polled: Polled):
    await polled.poll(0, busy=5, calls=10)
    await polled.fail(60)
    await polled.fail(60)
    assert (await polled.line("busy")).gaps == [Gap(NOON + 60, None, "failed")]
    (latest,) = [one for one in await polled.history.latest("toy") if one.series.key == "busy"]
    assert (latest.value, latest.state) == (None, "failed")
    await polled.poll(60, busy=6, calls=70)
    line = await polled.line("busy")
    assert line.gaps == [Gap(NOON + 60, NOON + 180, "failed")]
    assert line_view(line)["gaps"][0]["reason"] == "failed"
    counter = await polled.line("calls")
    assert (counter.rates, counter.rise) == ([], 60), "what was counted in a gap is known, but not when"


@pytest.mark.requirement("metrics:outages:partial")
async def test_a_part_of_a_sum_is_a_gap_and_no_lower_point(polled: Polled):
    await polled.poll(0, busy=5)
    await polled.poll(60, snapshot(NOON + 60, busy=3, state="partial"))
    await polled.poll(60, busy=6)
    line = await polled.line("busy")
    assert [point.last for point in line.points] == [5, 6]
    assert line.gaps == [Gap(NOON + 60, NOON + 120, "partial")]


@pytest.mark.requirement("metrics:gaps")
async def test_time_nobody_polled_is_a_gap(polled: Polled):
    await polled.poll(0, busy=5)
    await polled.poll(60, busy=5)
    await polled.poll(3_600, busy=7)
    assert (await polled.line("busy")).gaps == [Gap(NOON + 60, NOON + 3_660, "not_collected")]


@pytest.mark.requirement("metrics:gaps")
async def test_a_line_says_when_its_records_begin_within_the_period(polled: Polled):
    await polled.poll(0, busy=5)
    await polled.poll(60, busy=5, used=1)
    assert (await polled.line("busy", NOON - 3_600)).since == NOON
    assert (await polled.line("used", NOON - 3_600)).since == NOON + 60
    assert (await polled.line("busy", NOON + 30)).since is None, "it is older than the period"
    await roll_up_all(polled.database, Retention(), NOON + 30 * DAY)
    assert (await polled.line("busy", NOON - 3_600)).since == NOON, "roll-ups count"
    assert (await polled.line("busy", NOON + 30)).since is None


@pytest.mark.requirement("metrics:gaps")
async def test_a_figure_that_never_had_a_number_covers_nothing(polled: Polled):
    await polled.poll(0, snapshot(NOON, state="failed", busy=None))
    polled.clock.turn(60)
    line = await polled.line("busy", NOON - 3_600)
    assert (line.points, line.since) == ([], NOON + 61)


@pytest.mark.requirement("metrics:gaps")
async def test_polls_that_are_missing_now_are_a_gap_that_lasts(polled: Polled):
    await polled.poll(0, busy=5)
    polled.clock.turn(3_600)
    assert (await polled.line("busy")).gaps == [Gap(NOON, None, "not_collected")]
    (health,) = await polled.history.health()
    assert health.state == "late"


@pytest.mark.requirement("metrics:gaps")
async def test_a_figure_that_the_source_no_longer_has_is_a_gap(polled: Polled):
    await polled.poll(0, busy=5, used=1)
    await polled.poll(60, used=1)
    assert (await polled.line("busy")).gaps == [Gap(NOON + 60, None, "not_collected")]
    assert (await polled.line("used")).gaps == []


@pytest.mark.requirement("metrics:gaps")
async def test_a_reason_that_changes_is_another_gap(polled: Polled):
    await polled.poll(0, busy=5)
    await polled.poll(60, snapshot(NOON + 60, state="failed", busy=None))
    await polled.poll(60, snapshot(NOON + 120, state="no_permission", busy=None))
    await polled.poll(60, busy=5)
    assert (await polled.line("busy")).gaps == [
        Gap(NOON + 60, NOON + 120, "failed"),
        Gap(NOON + 120, NOON + 180, "no_permission"),
    ]


@pytest.mark.requirement("metrics:gaps")
async def test_roll_ups_keep_gaps(polled: Polled):
    await polled.poll(0, busy=5)
    await polled.fail(60)
    await polled.poll(60, busy=5)
    await roll_up_all(polled.database, Retention(), NOON + 30 * DAY)
    line = await polled.line("busy", end=NOON + 3_600)
    assert [point.span for point in line.points] == [3_600], "the samples are rolled up"
    assert line.gaps == [Gap(NOON + 60, NOON + 120, "failed")]


@pytest.mark.requirement("metrics:gaps")
async def test_the_axis_is_the_chosen_span_and_gaps_are_drawn(polled: Polled):
    for _ in range(10):
        await polled.poll(60, busy=50)
    await polled.fail(60)
    for _ in range(10):
        await polled.fail(60)
    line = await polled.line("busy")
    begin, end = NOON, NOON + 2_400
    drawn = svg_chart(history_chart("busy", [line], begin, end, polled.history.marks([line])))
    assert "2023-11-15 12:00" in drawn, "the axis begins where the span does"
    assert "2023-11-15 12:40" in drawn, "and ends where it does, long after the last sample"
    assert "No data: failed" in drawn
    assert ">alarm 95<" in drawn
    text = line_chart(line, begin, end, width=40, height=2)
    top = text.splitlines()[1].partition("|")[2]
    assert len(top.rstrip()) in (10, 11), "ten of forty minutes have a value; the others are empty, not squeezed"
    assert "no data: 2023-11-15 12:11 to 2023-11-15 12:40, failed" in text
