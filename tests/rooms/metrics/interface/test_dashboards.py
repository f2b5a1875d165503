"""Dashboards cover the requested period, and their headings say so."""

import pytest

from pentad.kernel.pages import Facets, Form, Note, TextField, Visit
from pentad.kernel.principal import LOCAL
from pentad.rooms.metrics.history.history_lines import HistoryLine
from pentad.rooms.metrics.interface.dashboards import covered_share, duration, last_span, period_of, time_picker
from pentad.rooms.metrics.store import Gap, Series

NOW = 1_800_000_000.0


def asked(**query: str) -> Visit:
    return Visit(LOCAL, query=query)


@pytest.mark.parametrize(
    ("query", "seconds", "title"),
    [
        ({}, 86_401, "The last 24 hours"),
        ({"span": "1h"}, 3_601, "The last hour"),
        ({"span": "90d"}, 90 * 86_400 + 1, "The last 90 days"),
        ({"span": "3h"}, 3 * 3_600 + 1, "The last 3h"),
        ({"from": "2026-01-01", "to": "2026-01-02"}, 2 * 86_400, "2026-01-01 00:00 to 2026-01-03 00:00 UTC"),
    ],
)
@pytest.mark.requirement("metrics:pages")
def test_the_heading_says_which_time_is_shown(query: dict[str, str], seconds: float, title: str) -> None:
    period = period_of(asked(**query), NOW)
    assert (period.seconds, period.title) == (seconds, title)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"from": "2026-01-05", "to": "2026-01-01"}, "The period ends before it begins."),
        ({"from": "yesterday"}, "'yesterday' is not a time."),
        ({"span": "long"}, "'now-long' is not a time."),
    ],
)
@pytest.mark.requirement("metrics:pages")
def test_a_period_that_makes_no_sense_is_told_beside_the_picker(query: dict[str, str], problem: str) -> None:
    period = period_of(asked(**query), NOW)
    assert period.title == "The last 24 hours"
    _, form, note = time_picker(period, ("host",))
    assert isinstance(note, Note)
    assert note.text.startswith(problem)
    assert isinstance(form, Form)
    assert [one.value for one in form.fields if isinstance(one, TextField)] == [
        query.get("from", ""),
        query.get("to", ""),
    ]


@pytest.mark.requirement("metrics:pages")
def test_the_chosen_span_is_no_link() -> None:
    facets, _ = time_picker(last_span("7d", NOW), ("host",))
    assert isinstance(facets, Facets)
    (facet,) = facets.facets
    assert [one.text.text for one in facet.options if one.chosen] == ["7d"]
    assert [one.text.text for one in facet.options if one.text.link is None] == ["7d"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1, "1 second"), (59, "59 seconds"), (3_600, "1 hour"), (86_401, "1 day"), (604_800, "7 days")],
)
def test_lengths_of_time_are_told_in_their_largest_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("since", "gaps", "text"),
    [
        (None, [], "100%"),
        (750.0, [], "25%"),
        (750.0, [Gap(0, 800, "failed")], "20%"),
        (1_000.0, [Gap(500, None, "failed")], "0%"),
        (None, [Gap(999, None, "failed")], "99%"),
        (None, [Gap(-50, 999, "failed")], "<1%"),
    ],
)
@pytest.mark.requirement("metrics:gaps")
def test_coverage_counts_neither_gaps_nor_the_time_before_the_first_record(
    since: float | None, gaps: list[Gap], text: str
) -> None:
    series = Series(1, "host", "", "memory.percent", (), "gauge", "%")
    assert covered_share(HistoryLine(series=series, gaps=gaps, since=since), 0, 1_000) == text
