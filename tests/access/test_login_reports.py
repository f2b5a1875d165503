"""Each failed login is told, and nobody fills the log or the trail by failing."""

import logging
from collections.abc import AsyncIterator

import pytest

from pentad.access.audit import AuditEntry
from pentad.access.login_reports import BURST, EVERY_SECONDS, LoginReports
from tests.access.clocks import TurnedClock

pytestmark = pytest.mark.anyio

HERE = "192.0.2.1"


class Told:
    """Reports with all they told."""

    def __init__(self) -> None:
        self.clock = TurnedClock()
        self.entries = list[AuditEntry]()
        self.reports = LoginReports(self.entries.append, clock=self.clock)


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    made = Told()
    yield made
    made.reports.close()


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "pentad.access.login_reports"]


@pytest.mark.requirement("access:failed-logins:told")
async def test_a_failure_is_one_line_and_one_entry_under_one_incident(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    incident = told.reports.report("user ada", HERE, "password", wire="grpc")
    [line] = lines(caplog)
    found = vars(line)
    assert (found["login"], found["address"], found["reason"], found["times"]) == ("user ada", HERE, "password", 1)
    assert found["incident"] == incident
    [entry] = told.entries
    assert (entry.principal, entry.tool, entry.outcome) == ("anonymous", "login", "unauthenticated")
    assert (entry.login, entry.address, entry.times, entry.transport) == ("user ada", HERE, 1, "grpc")
    assert entry.request_id == incident


@pytest.mark.requirement("access:failed-logins:bounded")
async def test_who_fails_on_is_told_of_again_only_after_a_while_with_how_often_and_why(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    for reason in ("password", "password", "closed", "password"):
        told.reports.report("user ada", HERE, reason)
    assert len(told.entries) == 1
    told.clock.advance(EVERY_SECONDS)
    told.reports.flush()
    assert [entry.times for entry in told.entries] == [1, 3]
    assert vars(lines(caplog)[-1])["reason"] == "closed, password"
    told.clock.advance(EVERY_SECONDS)
    told.reports.flush()
    assert len(told.entries) == 2, "nothing new, nothing told"


@pytest.mark.requirement("access:failed-logins:bounded")
async def test_ever_new_names_become_one_line_for_all_of_them(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(BURST + 5_000):
        told.reports.report(f"user name{number}", HERE, "password")
    told.reports.flush()
    assert len(told.entries) == len(lines(caplog)) == BURST + 1
    assert sum(entry.times for entry in told.entries) == BURST + 5_000
    assert told.entries[-1].login == ""
    assert len(told.reports._known) <= BURST


async def test_the_incident_does_not_tell_one_reason_from_another(told: Told) -> None:
    assert len({told.reports.report("token", HERE, reason) for reason in ("signature", "expired", "audience")}) == 1


async def test_what_is_left_is_told_at_the_end(told: Told) -> None:
    for _ in range(3):
        told.reports.report("user ada", HERE, "password")
    told.reports.close()
    assert sum(entry.times for entry in told.entries) == 3
