"""Polls and thresholds in the settings."""

import pytest
from msgspec import structs

from pentad.kernel.errors import Misconfigured
from pentad.rooms.metrics.configuration import checked_thresholds, poll_intervals
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.models import Info
from tests.rooms.metrics.toys import Toy


def info(name: str, *, ready: bool = True, seconds: float | None = None) -> Info:
    return structs.replace(Toy().info(), id=name, ready=ready, poll_seconds=seconds)


INFOS = (info("host", seconds=60.0), info("pentad", seconds=60.0), info("ch"), info("amq", ready=False, seconds=60.0))


@pytest.mark.requirement("metrics:polling")
def test_each_collector_is_polled_as_it_says_itself_or_as_the_operator_says():
    assert poll_intervals(INFOS, {}) == {"host": 60.0, "pentad": 60.0}
    given = {"pentad": 0, "ch": "3600", "ch/Root/Sub": 86_400}
    assert poll_intervals(INFOS, given) == {"host": 60.0, "ch": 3600.0, "ch/Root/Sub": 86_400.0}


def test_a_schedule_for_what_is_not_there_or_not_set_up_is_said(caplog: pytest.LogCaptureFixture):
    assert poll_intervals(INFOS, {"hots": 60, "amq/Root": 60}) == poll_intervals(INFOS, {})
    assert "hots. Did you mean 'host'?" in caplog.text
    assert "not set up: amq/Root" in caplog.text


@pytest.mark.parametrize("seconds", [-1, "often", "inf", float("inf")])
def test_a_schedule_that_is_no_time_is_refused(seconds: object):
    with pytest.raises(Misconfigured):
        poll_intervals(INFOS, {"host": seconds})


def test_a_threshold_for_what_is_not_measured_is_said(caplog: pytest.LogCaptureFixture):
    given = {"toy.groups": {"warn": 5}, "toy.gruops": {"warn": 5}}
    assert checked_thresholds(Catalogue([Toy()]), given) == given
    assert "toy.gruops. Did you mean 'toy.groups'?" in caplog.text
    assert "metric: toy.groups" not in caplog.text


@pytest.mark.parametrize("rule", [{"warn": "much"}, {"wran": 5}, 80])
def test_a_threshold_that_makes_no_sense_is_refused_when_the_room_opens(rule: object):
    with pytest.raises(Misconfigured, match="groups"):
        checked_thresholds(Catalogue([Toy()]), {"toy.groups": rule})
