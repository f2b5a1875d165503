"""Relative times: the grammar, the calendar, and filters that use them over MCP and REST."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.query.datetimes import parse_instant, parse_time
from pentad.rooms.registers.query.relative_times import has_relative, is_relative, resolve_relative
from tests.rooms.registers.opening import ADMIN, TurnedClock, opened, with_trees
from tests.rooms.registers.site import Site
from tests.stores import Stores

NOW = datetime(2026, 3, 31, 12, 30, 15, tzinfo=UTC)
UNITS = {
    "s": "seconds", "second": "seconds", "min": "minutes", "minutes": "minutes", "h": "hours", "hours": "hours",
    "d": "days", "day": "days", "w": "weeks", "weeks": "weeks",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("today", datetime(2026, 3, 31, tzinfo=UTC)),
        ("-30d", NOW - timedelta(days=30)),
        ("+2h", NOW + timedelta(hours=2)),
        (" 2h", NOW + timedelta(hours=2)),
        ("now-90min", NOW - timedelta(minutes=90)),
        ("today-1week", datetime(2026, 3, 24, tzinfo=UTC)),
        ("today+1d-1s", datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC)),
        ("-1month", NOW.replace(month=2, day=28)),
        ("-1years", NOW.replace(year=2025)),
        ("-25months", NOW.replace(year=2024, month=2, day=29)),
    ],
)
@pytest.mark.requirement("registers:query:relative-times")
def test_a_relative_time_means_a_moment_in_utc(text: str, expected: datetime) -> None:
    assert resolve_relative(text, NOW.timestamp()) == expected


@pytest.mark.parametrize(
    "text",
    ["", "-", "30d", "-5m", "-1parsec", "tomorrow", "now-", "now -1d x", "-1d;", "today today", "-1234567d", "2026"],
)
@pytest.mark.requirement("registers:query:relative-times")
def test_what_is_not_in_the_grammar_is_not_a_time(text: str) -> None:
    assert not is_relative(text)
    assert resolve_relative(text, NOW.timestamp()) is None


@given(st.text(max_size=30))
@pytest.mark.requirement("registers:query:relative-times")
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = resolve_relative(text, NOW.timestamp())
    assert found is None or is_relative(text)
    assert has_relative({"a": [{"b": text}]}) == is_relative(text)


@given(st.lists(st.tuples(st.sampled_from("+-"), st.integers(0, 9_999), st.sampled_from(sorted(UNITS))), max_size=4))
@pytest.mark.requirement("registers:query:relative-times")
def test_steps_of_fixed_length_add_up(steps: list[tuple[str, int, str]]) -> None:
    text = "now" + "".join(f"{sign}{count}{unit}" for sign, count, unit in steps)
    expected = NOW
    for sign, count, unit in steps:
        expected += timedelta(**{UNITS[unit]: count if sign == "+" else -count})
    assert resolve_relative(text, NOW.timestamp()) == expected


@given(st.datetimes(datetime(1980, 1, 1), datetime(2200, 1, 1)), st.integers(-900, 900))  # noqa: DTZ001  naive by contract
@pytest.mark.requirement("registers:query:relative-times")
def test_months_keep_the_day_or_take_the_last_one(moment: datetime, count: int) -> None:
    now = moment.replace(tzinfo=UTC, microsecond=0)
    there = resolve_relative(f"{count:+d}months", now.timestamp())
    assert there is not None
    months = (there.year - now.year) * 12 + there.month - now.month
    assert (months, there.time()) == (count, now.time())
    assert there.day == now.day or (there.day < now.day and (there + timedelta(days=1)).month != there.month)


@pytest.mark.requirement("registers:query:relative-times")
def test_what_leaves_the_calendar_is_refused_and_the_hint_shows_the_grammar() -> None:
    with pytest.raises(InvalidInput, match="is not a time") as refused:
        parse_time("-9999years", "due", NOW.timestamp())
    assert "-30d" in (refused.value.hint or "")


@pytest.mark.requirement("registers:query:relative-times")
def test_a_rule_takes_no_relative_time_because_it_is_read_once() -> None:
    with pytest.raises(InvalidInput, match="not a fixed time"):
        parse_instant("-30d", "match.due")


PROPERTIES: dict[str, Any] = {
    "due": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "text": {"type": "string"},
}


@pytest.mark.anyio
@pytest.mark.requirement("registers:query:relative-times")
async def test_filters_take_relative_times_over_mcp_and_rest(site: Site) -> None:
    place = await site.pair(PROPERTIES)
    _, _, register, schema = place.split("/")
    now = datetime.now(UTC)
    for days in (0, 10, 40, 100):
        then = now - timedelta(days=days)
        row = {"due": then.date().isoformat(), "at": then.isoformat().replace("+00:00", "Z"), "text": f"{days}"}
        await site.made(place, row)
    async with site.app.client() as client:

        async def found(criteria: Any, **more: Any) -> Any:
            given = {"action": "list", "register": int(register), "schema": int(schema), "filter": criteria, **more}
            return (await client.call_tool("objects", given))["structuredContent"]

        for name in ("due", "at"):
            assert (await found({name: {"gt": "-30d"}}))["total"] == 2
            assert (await found({name: {"lte": "-1month"}}))["total"] == 2
            assert (await found({name: {"gte": "today-95d", "lt": "now-1d"}}))["total"] == 2
        assert (await found({"@self.created": {"gt": "-1h"}}))["total"] == 4
        assert (await found({"@self.created": {"gt": "+1h"}}))["total"] == 0
        assert (await found({"text": "today"}))["total"] == 0
        page = await found({"at": {"gt": "-2years"}}, limit=3, sort=["text"])
        rest = await found({"at": {"gt": "-2years"}}, limit=3, sort=["text"], cursor=page["cursor"])
        assert [row["text"] for row in (*page["results"], *rest["results"])] == ["0", "10", "100", "40"]
    for query, total in (
        (f"at[gt]={quote('-30d')}", 2),
        ("due[gte]=today", 1),
        ("at[lt]=now+1d", 4),
        ("_created[gt]=-1h", 4),
    ):
        assert (await site.send("GET", f"/api{place}?{query}")).json["total"] == total, query
    page = (await site.send("GET", f"/api{place}?at[gt]=-2years&_limit=3")).json
    following = await site.send(
        "GET", f"/api{place}?at[gt]=-2years&_limit=3&_cursor={page.get('cursor') or page['next']}"
    )
    assert following.status == 200


@pytest.mark.anyio
@pytest.mark.requirement("registers:query:relative-times")
async def test_relative_times_count_from_the_clock_of_the_server(stores: Stores) -> None:
    clock = TurnedClock()
    async with opened(stores, clock) as registers:
        trees = await with_trees(registers)
        await registers.objects.create(ADMIN, trees, {"number": "T-1"})
        recent = {"filter": {"@self.created": {"gt": "-30d"}}}
        view = await registers.views.create(ADMIN, trees, "Recent", {**recent, "columns": ["number"]})
        old = {"@self.created": {"lt": "-30d"}}

        async def counts() -> tuple[int | None, ...]:
            queries = (
                await registers.objects.query_of(ADMIN, trees, recent),
                await registers.objects.parameters_of(ADMIN, trees, [("_created[gt]", "-30d")]),
            )
            found = [(await registers.objects.find(ADMIN, trees, query)).total for query in queries]
            groups = await registers.objects.aggregate_of(ADMIN, trees, recent)
            [group] = (await registers.objects.aggregate(ADMIN, trees, groups)).groups
            inside = await registers.views.run(ADMIN, view.id, filter=old)
            return (*found, group["count"], (await registers.views.run(ADMIN, view.id)).total, inside.total)

        assert await counts() == (1, 1, 1, 1, 0)
        clock.ahead = 40 * 86_400
        assert await counts() == (0, 0, 0, 0, 0)
