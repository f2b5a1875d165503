"""Alerts are raised after several bad values, and cleared with a margin."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Database
from pentad.rooms.metrics.history.alerts import (
    LEVELS,
    AlertState,
    Rule,
    alert_changes,
    check,
    next_state,
    raised_alerts,
    rule_of,
)
from pentad.rooms.metrics.models import Metric, State
from tests.rooms.metrics.history.samples import INFO, NOON, record, snapshot

BUSY = Rule(warn=80, alarm=95)


def levels(values: Sequence[float], rule: Rule = BUSY) -> list[str]:
    standing, found = AlertState(), []
    for value in values:
        standing = next_state(standing, value, rule)
        found.append(standing.level)
    return found


@pytest.mark.parametrize(("values", "expected"), [
    ([85, 85], ["ok", "warn"]),
    ([85, 20, 85, 20], ["ok", "ok", "ok", "ok"]),
    ([99, 99], ["ok", "alarm"]),
    ([85, 99], ["ok", "warn"]),
    ([85, 99, 99], ["ok", "warn", "warn"]),
    ([85, 99, 99, 99], ["ok", "warn", "warn", "alarm"]),
    ([85, 85, 79, 77, 75], ["ok", "warn", "warn", "warn", "ok"]),
    ([99, 99, 92, 89], ["ok", "alarm", "alarm", "warn"]),
    ([99, 99, 10], ["ok", "alarm", "ok"]),
])  # fmt: skip
def test_an_alert_rises_after_two_bad_values_and_falls_with_a_margin(values: Sequence[float], expected: list[str]):
    assert levels(values) == expected


def test_where_small_values_are_bad_the_thresholds_are_floors():
    rule = Rule(warn=90, alarm=70, is_floor=True)
    assert levels([99, 80, 80, 60, 60, 92, 95], rule) == ["ok", "ok", "warn", "warn", "alarm", "warn", "ok"]


@given(st.lists(st.floats(76.1, 83.9), max_size=50))
def test_a_value_that_swings_around_its_threshold_changes_its_alert_once_at_most(values: Sequence[float]):
    found = ["ok", *levels(values)]
    assert sum(before != after for before, after in pairwise(found)) <= 1


@given(st.lists(st.floats(-1e3, 1e3), max_size=40))
def test_an_alert_never_rises_higher_than_the_worst_value(values: Sequence[float]):
    worst = 0
    for value, level in zip(values, levels(values), strict=True):
        worst = max(worst, LEVELS.index(BUSY.level(value)))
        assert LEVELS.index(level) <= worst


@pytest.mark.anyio
async def test_alerts_are_kept_with_since_when_and_their_changes(past: Database):
    for number, busy in enumerate((50, 97, 98, None, 99, 40)):
        shot = snapshot(NOON + 60 * number, busy=busy, used=96, total=100)
        await record(past, INFO, shot, lambda tx, shot=shot: check(tx, INFO, shot, {}))
    used, *others = await past.read(raised_alerts)
    assert others == []
    assert (used.key, used.level, used.value, used.threshold, used.since) == ("used", "alarm", 96, 95, NOON + 60)
    changes = await past.read(lambda rows: alert_changes(rows, NOON))
    assert [(change.key, change.before, change.after, change.at - NOON) for change in changes] == [
        ("busy", "alarm", "ok", 300), ("busy", "ok", "alarm", 120), ("used", "ok", "alarm", 60),
    ]  # fmt: skip


@pytest.mark.anyio
async def test_an_older_value_that_stands_in_neither_raises_nor_ends_an_alert(past: Database):
    seen: tuple[tuple[int, State], ...] = ((97, "ok"), (97, "stale"), (97, "ok"), (10, "stale"))
    for number, (busy, state) in enumerate(seen):
        shot = snapshot(NOON + 60 * number, busy=busy, state=state)
        await record(past, INFO, shot, lambda tx, shot=shot: check(tx, INFO, shot, {}))
    (busy,) = await past.read(raised_alerts)
    assert (busy.level, busy.since) == ("alarm", NOON + 120)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:outages:partial")
async def test_a_part_of_a_sum_raises_an_alert_if_it_is_too_high_but_never_ends_one(past: Database):
    seen: tuple[tuple[int, State, str], ...] = (
        (97, "partial", "ok"), (98, "partial", "alarm"), (10, "partial", "alarm"), (90, "partial", "alarm"),
        (90, "ok", "warn"), (96, "partial", "warn"), (10, "ok", "ok"),
    )  # fmt: skip
    for number, (busy, state, expected) in enumerate(seen):
        shot = snapshot(NOON + 60 * number, busy=busy, state=state)
        await record(past, INFO, shot, lambda tx, shot=shot: check(tx, INFO, shot, {}))
        assert [one.level for one in await past.read(raised_alerts)] == ([] if expected == "ok" else [expected])
    floor = {"toy.busy": {"is_floor": True, "warn": 50, "times": 1}}
    shot = snapshot(NOON + 600, busy=10, state="partial")
    await record(past, INFO, shot, lambda tx: check(tx, INFO, shot, floor))
    assert await past.read(raised_alerts) == [], "the whole sum may be above it"


@pytest.mark.anyio
async def test_the_operator_sets_other_thresholds(past: Database):
    given = {"toy.busy": {"warn": "10", "times": 1}}
    changed = []
    shot = snapshot(NOON, busy=12)
    await record(past, INFO, shot, lambda tx: changed.extend(check(tx, INFO, shot, given)))
    assert changed == [("busy", "ok", "warn")]


def test_a_threshold_that_makes_no_sense_is_refused():
    with pytest.raises(Misconfigured, match="busy"):
        rule_of(Metric(key="busy", description=""), {"warn": "much"})
    assert rule_of(Metric(key="plain", description="")) is None
    assert rule_of(Metric(key="name", description="", kind="text", warn=1)) is None
