"""Reading and writing the history tables."""

import pytest

from pentad.kernel.clock import iso
from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.metrics import store
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.changes import compare_values, values_of
from pentad.rooms.metrics.history.metric_history import MetricHistory
from pentad.rooms.metrics.interface.presentation import line_view, plot_points
from pentad.rooms.metrics.models import Info, State
from tests.rooms.metrics.history.samples import INFO, NOON, record, snapshot
from tests.rooms.metrics.sources import TurnedClock
from tests.rooms.metrics.toys import Toy

END = NOON + 1_000_000


async def points(past: Database, key: str) -> list[tuple[float, float]]:
    def work(rows: Rows):
        (series,) = store.find_series(rows, "toy", keys=[key])
        return [(point.at, point.last) for point in store.points(rows, series.id, 0, END)]

    return await past.read(work)


@pytest.mark.anyio
async def test_numbers_are_kept_each_time_and_once_for_each_moment(past: Database):
    for at, used in ((0, 1), (60, 1), (120, 3), (120, 4)):
        await record(past, INFO, snapshot(NOON + at, used=used))
    assert await points(past, "used") == [(NOON, 1.0), (NOON + 60, 1.0), (NOON + 120, 3.0)]


@pytest.mark.anyio
async def test_words_are_kept_when_they_changed(past: Database):
    kept = [
        await record(past, INFO, snapshot(NOON + number, versions=value))
        for number, value in enumerate((["1"], ["1"], ["1", "2"], ["1"]))
    ]
    assert kept == [1, 0, 1, 1]

    def work(rows: Rows):
        (series,) = store.find_series(rows, "toy")
        return store.texts(rows, series.id, 0, END)

    assert await past.read(work) == [(NOON, ["1"]), (NOON + 2, ["1", "2"]), (NOON + 3, ["1"])]


@pytest.mark.anyio
async def test_a_number_that_could_not_be_had_is_a_gap_with_its_reason(past: Database):
    await record(past, INFO, snapshot(NOON, used=5))
    await record(past, INFO, snapshot(NOON + 60, used=None, state="no_permission"))
    assert await points(past, "used") == [(NOON, 5.0)]
    (last,) = await past.read(lambda rows: store.latest(rows, "toy"))
    assert (last.value, last.state) == (None, "no_permission")


@pytest.mark.anyio
@pytest.mark.requirement("metrics:history:gaps")
async def test_an_older_value_that_stands_in_is_a_gap_and_a_line_breaks_off_there(past: Database):
    states: tuple[tuple[int, State], ...] = ((0, "ok"), (60, "stale"), (120, "ok"))
    for at, state in states:
        await record(past, INFO, snapshot(NOON + at, used=5, calls=at, state=state))
    lines = await MetricHistory(past, TurnedClock(NOON + 180), Catalogue([Told()]), {}).lines(
        "toy", ["used", "calls"], NOON, END
    )
    drawn = {line.series.key: plot_points(line) for line in lines.lines}
    assert drawn["used"] == [(NOON, 5.0), (NOON + 60, None), (NOON + 120, 5.0)]
    assert drawn["calls"] == [(NOON + 60, None)], "what was counted in a gap has no rate"
    assert line_view(lines.lines[0])["gaps"] == [{"from": iso(NOON + 60), "to": iso(NOON + 120), "reason": "stale"}]


@pytest.mark.anyio
@pytest.mark.requirement("metrics:history:forecast")
async def test_a_forecast_is_of_the_threshold_the_operator_set(past: Database):
    for number in range(10):
        await record(past, INFO, snapshot(NOON + 3600 * number, busy=number))
    given = {"toy.busy": {"alarm": 18}}
    own = MetricHistory(past, TurnedClock(NOON + 9 * 3600), Catalogue([Told()]), given)
    (line,) = (await own.lines("toy", ["busy"], NOON, END, with_forecast=True)).lines
    assert line.forecast is not None
    assert (line.forecast.limit, line.forecast.reached_at) == (18, pytest.approx(NOON + 18 * 3600))


@pytest.mark.anyio
async def test_a_comparison_with_a_moment_before_everything_says_when_it_began(past: Database):
    await record(past, INFO, snapshot(NOON, used=5))
    own = MetricHistory(past, TurnedClock(NOON + 60), Catalogue([Told()]), {})
    with pytest.raises(NotFound) as refused:
        await own.changes(["toy"], NOON - 60, NOON + 60)
    assert iso(NOON) in (refused.value.hint or "")


class Told(Toy):
    """A collector that is known by what it says of itself alone."""

    def info(self) -> Info:
        return INFO


@pytest.mark.anyio
async def test_what_is_not_worth_keeping_is_not_kept(past: Database):
    assert await record(past, INFO, snapshot(NOON, passing=1)) == 0


@pytest.mark.anyio
async def test_labels_and_scopes_are_series_of_their_own(past: Database):
    for scope in ("a", "b"):
        for name in ("x", "y"):
            await record(past, INFO, snapshot(NOON, scope, labels=(("id", name),), used=len(scope + name)))
    found = await past.read(lambda rows: store.find_series(rows, "toy"))
    assert [(one.scope, one.labels) for one in found] == [
        ("a", (("id", "x"),)), ("a", (("id", "y"),)), ("b", (("id", "x"),)), ("b", (("id", "y"),)),
    ]  # fmt: skip
    assert await past.read(lambda rows: store.scopes(rows, "toy")) == ["a", "b"]
    assert len(await past.read(lambda rows: store.latest(rows, "toy", "b"))) == 2


@pytest.mark.anyio
async def test_what_changed_since_a_moment_is_told(past: Database):
    await record(past, INFO, snapshot(NOON, used=10, total=100, versions=["1", "2"]))
    await record(past, INFO, snapshot(NOON + 60, used=15, total=100, versions=["2", "3"], calls=1))

    def work(rows: Rows):
        return compare_values(
            values_of(store.latest(rows, "toy", at=NOON + 1)), values_of(store.latest(rows, "toy", at=NOON + 61))
        )

    versions, used, calls = await past.read(work)
    assert (used.key, used.what, used.before, used.after, used.delta, used.percent) == (
        "used",
        "changed",
        10,
        15,
        5,
        50,
    )
    assert (calls.key, calls.what, calls.after) == ("calls", "new", 1)
    assert (versions.added, versions.removed) == (["3"], ["1"])


@pytest.mark.anyio
async def test_what_else_belongs_to_it_is_written_with_it_or_not_at_all(past: Database):
    def broken(transaction: Transaction):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await record(past, INFO, snapshot(NOON, used=1), broken)
    assert await past.read(lambda rows: store.find_series(rows, "toy")) == []
