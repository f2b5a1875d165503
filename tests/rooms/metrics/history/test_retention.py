"""Old samples are rolled up to hours and days without losing what charts need."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.ports import Database, Rows
from pentad.rooms.metrics import store
from pentad.rooms.metrics.history.changes import bucket_points, downsample, merge_points, rates, total_rise
from pentad.rooms.metrics.history.retention import Retention, roll_up_all
from pentad.rooms.metrics.store import DAY, HOUR, Point, sample_point
from tests.rooms.metrics.history.samples import INFO, NOON, record, snapshot

SERIES = st.lists(
    st.tuples(st.integers(0, 400_000), st.floats(-1e6, 1e6)), min_size=1, max_size=60, unique_by=lambda pair: pair[0]
).map(lambda pairs: [sample_point(float(at), value) for at, value in sorted(pairs)])


async def known(past: Database, key: str, end: float = NOON + 10 * DAY) -> list[Point]:
    def work(rows: Rows) -> list[Point]:
        (series,) = store.find_series(rows, "toy", keys=[key])
        return store.points(rows, series.id, 0, end)

    return await past.read(work)


def summary(points: Sequence[Point]) -> tuple[float, ...]:
    return (
        sum(point.samples for point in points),
        min(point.lowest for point in points),
        max(point.highest for point in points),
        math.fsum(point.total for point in points),
        points[0].first,
        points[-1].last,
    )


@pytest.mark.anyio
async def test_samples_become_hours_and_hours_days_with_the_same_least_greatest_and_sum(past: Database):
    values = [3.5, 9.25, -4.0, 7.0, 7.0, 120.5, 0.25, 6.0]
    for number, value in enumerate(values):
        await record(past, INFO, snapshot(NOON + number * 1_500, used=value, calls=number * 10))
    before, counted = summary(await known(past, "used")), total_rise(await known(past, "calls"))
    for now, span in ((NOON + 9 * DAY, HOUR), (NOON + 100 * DAY, DAY)):
        await roll_up_all(past, Retention(7, 90, 1_000), now)
        points = await known(past, "used")
        assert {point.span for point in points} == {span}
        assert summary(points) == before
        assert total_rise(await known(past, "calls")) == counted == 70
    assert await past.read(lambda rows: rows.value("SELECT count(*) FROM metric_samples")) == 0
    (last,) = [one for one in await past.read(lambda rows: store.latest(rows, "toy")) if one.series.key == "used"]
    assert (last.value, last.at) == (6.0, NOON + 7 * 1_500)


@pytest.mark.anyio
async def test_what_is_recent_stays_as_it_came_and_what_is_too_old_goes(past: Database):
    await record(past, INFO, snapshot(NOON - 200 * DAY, used=1.0, versions=["old"]))
    await record(past, INFO, snapshot(NOON - 199 * DAY, versions=["new"]))
    await record(past, INFO, snapshot(NOON, used=2.0))
    await roll_up_all(past, Retention(7, 90, 100), NOON + 60)
    assert [point.last for point in await known(past, "used")] == [2.0]
    texts = await past.read(lambda rows: rows.all("SELECT text FROM metric_samples WHERE text IS NOT NULL"))
    assert texts == [('["new"]',)]


@pytest.mark.anyio
async def test_a_sample_that_comes_late_joins_its_hour(past: Database):
    await record(past, INFO, snapshot(NOON + 60, used=5.0))
    await roll_up_all(past, Retention(1, 90, 1_000), NOON + 3 * DAY)
    await record(past, INFO, snapshot(NOON + 30, used=9.0))
    await roll_up_all(past, Retention(1, 90, 1_000), NOON + 3 * DAY)
    (point,) = await known(past, "used")
    assert (point.samples, point.lowest, point.highest, point.total, point.last) == (2, 5.0, 9.0, 14.0, 5.0)


@pytest.mark.anyio
async def test_tidying_twice_changes_nothing_more(past: Database):
    for number in range(5):
        await record(past, INFO, snapshot(NOON + number * 2_000, used=float(number)))
    await roll_up_all(past, Retention(1, 90, 1_000), NOON + 5 * DAY)
    before = await known(past, "used")
    assert await roll_up_all(past, Retention(1, 90, 1_000), NOON + 5 * DAY) == 0
    assert await known(past, "used") == before


@given(SERIES, st.sampled_from([60, HOUR, 7_200, DAY]))
def test_buckets_keep_number_least_greatest_sum_first_and_last(points: Sequence[Point], step: int):
    found = bucket_points(points, step)
    assert summary(found)[:3] == summary(points)[:3]
    assert summary(found)[3] == pytest.approx(summary(points)[3])
    assert (found[0].first, found[-1].last) == (points[0].first, points[-1].last)
    assert all(point.at % step == 0 for point in found)


@given(SERIES, st.integers(1, 10))
def test_thinning_gives_no_more_than_asked_for_and_loses_nothing(points: Sequence[Point], most: int):
    found = downsample(points, most)
    assert len(found) <= most
    assert summary(found)[:3] == summary(points)[:3]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.integers(1, 10))
def test_a_counter_counts_the_same_however_it_is_bucketed(steps: list[float], width: int):
    readings, at = [], 0.0
    for step in steps:
        at += step
        readings.append(at)
    points = [sample_point(float(number), value) for number, value in enumerate(readings)]
    assert total_rise(bucket_points(points, width)) == pytest.approx(readings[-1] - readings[0])


@pytest.mark.requirement("metrics:history:gaps")
def test_a_counter_that_was_set_back_counts_from_zero_again():
    points = [sample_point(at, value) for at, value in ((0.0, 100.0), (10.0, 150.0), (20.0, 30.0), (30.0, 40.0))]
    assert rates(points) == [(10.0, 5.0), (20.0, 3.0), (30.0, 1.0)]
    assert total_rise(points) == 90.0
    assert merge_points(points, at=0.0, span=40).rise == 90.0
