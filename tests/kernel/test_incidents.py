"""Failures under a number: one line for a storm, and a number for everybody in it."""

import logging

import pytest

from pentad.kernel import incidents
from pentad.kernel.background import Background
from pentad.kernel.errors import Conflict, InvalidInput, PentadError, Unavailable
from pentad.kernel.incidents import Incidents, ensure_logged, internal_error, log_failure
from pentad.kernel.trace import RequestMark, request_mark

LOG = logging.getLogger("tests.incidents")


class Ticking:
    def __init__(self) -> None:
        self.at = 1_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """No incident of another test goes on in this one."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(incidents, "_DEFAULT", Incidents(LOG))


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if hasattr(record, "incident")]


@pytest.mark.requirement("incidents:storm")
def test_a_storm_of_one_cause_is_one_line_whose_number_everybody_gets(
    caplog: pytest.LogCaptureFixture, clock: Ticking
) -> None:
    known = Incidents(LOG, every=60, clock=clock)
    numbers = {known.note("full", "The disk is full", reason="full") for _ in range(26)}
    (line,) = lines(caplog)
    assert numbers == {vars(line)["incident"]}
    assert vars(line)["reason"] == "full"
    assert vars(line)["incident"] in line.getMessage()


@pytest.mark.requirement("incidents:storm")
def test_what_goes_on_is_told_again_with_how_often_it_happened(
    caplog: pytest.LogCaptureFixture, clock: Ticking
) -> None:
    known = Incidents(LOG, every=60, clock=clock)
    number = known.note("full", "The disk is full")
    for _ in range(13):
        clock.at += 10
        assert known.note("full", "The disk is full") == number
    assert [getattr(line, "times", None) for line in lines(caplog)] == [None, 6, 6]
    known.over("full", "It works again.")
    last = lines(caplog)[-1]
    assert (vars(last)["incident"], vars(last)["times"], vars(last)["seconds"]) == (number, 14, 130.0)


def test_what_comes_back_after_a_pause_is_another_incident(caplog: pytest.LogCaptureFixture, clock: Ticking) -> None:
    known = Incidents(LOG, every=60, clock=clock)
    first = known.note("full", "The disk is full")
    clock.at += 61
    assert known.note("full", "The disk is full") != first
    known.over("empty", "Nothing was wrong.")
    assert len(lines(caplog)) == 2


@pytest.mark.requirement("incidents:storm")
def test_many_causes_at_once_do_not_flood_the_log(caplog: pytest.LogCaptureFixture, clock: Ticking) -> None:
    known = Incidents(LOG, every=60, most=5, clock=clock)
    numbers = [known.note(f"host {n}", f"Host {n} is refused") for n in range(500)]
    told = [vars(line)["incident"] for line in lines(caplog)]
    assert len(told) == 6
    assert set(numbers) == set(told), "every number is in the log"
    clock.at += 61
    known.note("host 501", "Host 501 is refused")
    assert lines(caplog)[-1].getMessage().startswith("Host 501")


def test_who_asked_is_in_the_line(caplog: pytest.LogCaptureFixture) -> None:
    mark = request_mark.set(RequestMark("1", principal="user:ada"))
    try:
        Incidents(LOG).note("x", "It failed")
    finally:
        request_mark.reset(mark)
    assert vars(lines(caplog)[0])["principal"] == "user:ada"


@pytest.mark.requirement("incidents:one-numbering")
def test_an_error_of_the_server_gets_a_number_once_and_others_get_none(caplog: pytest.LogCaptureFixture) -> None:
    away = ensure_logged(Unavailable("It is away.", hint="Wait."), "tool 'x'")
    assert away.incident == vars(lines(caplog)[0])["incident"]
    assert away.as_json()["details"] == {"incident": away.incident}
    assert away.sentence() == f"It is away. Wait. The operator finds it in the log as incident {away.incident}."
    ensure_logged(away, "further out")
    for own_fault in (InvalidInput("wrong"), Conflict("taken")):
        assert ensure_logged(own_fault, "tool 'x'").incident is None
        assert "details" not in own_fault.as_json()
    assert len(lines(caplog)) == 1


@pytest.mark.requirement("incidents:one-numbering")
def test_an_error_raised_for_another_has_the_number_of_that_one() -> None:
    first = ensure_logged(Unavailable("The store is away."), "a read")

    def read() -> None:
        try:
            raise first
        except PentadError as error:
            raise InvalidInput(f"It cannot be read: {error.message}") from None

    with pytest.raises(InvalidInput) as caught:
        read()
    assert caught.value.incident == first.incident
    assert caught.value.as_json()["details"] == {"incident": first.incident}


@pytest.mark.requirement("incidents:one-numbering")
def test_an_unforeseen_failure_keeps_its_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    made = internal_error(RuntimeError("canary"), "tool 'x'")
    assert "canary" not in made.sentence()
    assert made.sentence().count(made.incident or "?") == 1
    (line,) = lines(caplog)
    assert vars(line)["incident"] == made.incident
    assert "canary" in caplog.text


@pytest.mark.requirement("incidents:background")
def test_work_that_is_put_off_again_and_again_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        log_failure(Unavailable("The store is away."), "The poll")
        log_failure(ValueError("canary"), "The poll")
    assert len(lines(caplog)) == 2
    assert "canary" in caplog.text


@pytest.mark.anyio
@pytest.mark.requirement("incidents:background")
async def test_background_work_that_dies_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def dies() -> None:
        raise RuntimeError("canary")

    work = Background()
    work.start(dies(), "the sweeper")
    await work.stop()
    assert not lines(caplog), "who stops it before it began sees no death"
    work.start(dies(), "the sweeper")
    task = work._task
    assert task is not None
    with pytest.raises(RuntimeError):
        await task
    assert "the sweeper" in lines(caplog)[0].getMessage()
