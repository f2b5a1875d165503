"""The feed: one order over all sources, a cursor that survives, filters, and the caller's rights."""

from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.events.feed import NOW, EventFeed, EventFilter, Source, parse_cursor
from pentad.events.outbox import emit
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import InvalidInput
from pentad.kernel.events import Event
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL, Principal
from tests.events.test_outbox import SETS
from tests.stores import Stores

pytestmark = pytest.mark.anyio

KINDS = {"a": {"thing.done": "It was done."}, "log": {"line.added": "A line."}}
READER = Principal("user:rita", "rita", frozenset({"a:read"}))


def log(times: Sequence[float]) -> Source:
    """A source with events at these times."""

    async def read(principal: Principal, position: str, limit: int) -> tuple[list[Event], str]:
        first = int(position or 0)
        found = [
            Event("log", "line.added", f"log {number}", times[number], str(number + 1))
            for number in range(first, min(len(times), first + limit))
        ]
        return found, found[-1].position if found else position

    async def newest(back: int) -> str:
        return str(max(0, len(times) - back))

    return Source("log", read, newest, lambda principal: principal.may("log", "read"))


def feed(database: Database, times: Sequence[float] = ()) -> EventFeed:
    return EventFeed(database, SystemClock(), lambda: [log(times)], lambda: KINDS)


async def fill(database: Database, times: Sequence[float]) -> None:
    for number, at in enumerate(times):
        await database.write(lambda tx, number=number, at=at: emit(tx, "a", "thing.done", [f"a {number}"], at=at))


@pytest.mark.requirement("events:feed")
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_pages_of_any_size_give_every_event_once_in_the_order_of_time(stores: Stores, limit: int) -> None:
    database = await stores.open(SETS)
    await fill(database, [1.0, 3.0, 5.0, 5.0, 9.0])
    events = feed(database, [2.0, 4.0, 4.0, 5.0, 20.0, 10.0])
    seen: list[Event] = []
    cursor: str | None = None
    for _ in range(30):
        page = await events.page(LOCAL, cursor=cursor, limit=limit)
        seen += page.events
        assert page.cursor == (page.cursors[-1] if page.cursors else cursor)
        cursor = page.cursor
        if not page.has_more:
            break
    assert [one.subject for one in seen if one.room == "a"] == [f"a {number}" for number in range(5)]
    assert [one.subject for one in seen if one.room == "log"] == [f"log {number}" for number in range(6)]
    times = [one.at for one in seen]
    assert times[:-1] == sorted(times[:-1]), "but for the clock that was set back"
    page = await events.page(LOCAL, cursor=cursor)
    assert (page.events, page.has_more) == ([], False)


@pytest.mark.requirement("events:feed")
async def test_every_cursor_of_a_page_goes_on_right_behind_its_event(stores: Stores) -> None:
    database = await stores.open(SETS)
    await fill(database, [1.0, 3.0, 5.0])
    events = feed(database, [2.0, 4.0])
    whole = await events.page(LOCAL)
    for number, cursor in enumerate(whole.cursors, 1):
        rest = await events.page(LOCAL, cursor=cursor)
        assert [one.id for one in rest.events] == [one.id for one in whole.events[number:]]


@pytest.mark.requirement("events:feed")
async def test_now_is_the_cursor_behind_everything(stores: Stores) -> None:
    database = await stores.open(SETS)
    await fill(database, [1.0])
    events = feed(database, [2.0])
    now = await events.page(LOCAL, cursor=NOW)
    await database.write(lambda tx: emit(tx, "a", "thing.done", ["later"]))
    page = await events.page(LOCAL, cursor=now.cursor)
    assert [one.subject for one in page.events] == ["later"]


@pytest.mark.requirement("events:feed")
async def test_the_latest_events_come_newest_first_from_the_end_of_each_log(stores: Stores) -> None:
    database = await stores.open(SETS)
    await fill(database, [float(number) for number in range(130)])
    events = feed(database, [number + 0.5 for number in range(130)])
    latest = await events.latest(LOCAL, 2)
    assert [one.subject for one in latest] == ["log 129", "a 129", "log 128", "a 128"]
    seen = await events.latest(READER, 2)
    assert [one.subject for one in seen] == ["a 129", "a 128"]


@pytest.mark.requirement("events:rights")
async def test_a_caller_gets_only_the_rooms_it_may_read(stores: Stores) -> None:
    database = await stores.open(SETS)
    await fill(database, [1.0])
    assert [one.room for one in (await feed(database, [2.0]).page(READER)).events] == ["a"]


@pytest.mark.requirement("events:feed")
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EventFilter(rooms=frozenset({"log"})), ["log 0", "log 1"]),
        (EventFilter(kinds=("thing.done",)), ["a 0", "a 1"]),
        (EventFilter(kinds=("log.line.added",)), ["log 0", "log 1"]),
        (EventFilter(kinds=("thing.*", "line.*")), ["a 0", "log 0", "a 1", "log 1"]),
        (EventFilter(subject="a 1"), ["a 1"]),
        (EventFilter(subject="log*", since=3.5), ["log 1"]),
        (EventFilter(until=2.5), ["a 0", "log 0"]),
    ],
)
async def test_filters(stores: Stores, wanted: EventFilter, found: list[str]) -> None:
    database = await stores.open(SETS)
    await fill(database, [1.0, 3.0])
    page = await feed(database, [2.0, 4.0]).page(LOCAL, wanted)
    assert [one.subject for one in page.events] == found


@pytest.mark.requirement("events:feed")
async def test_a_filter_that_can_never_fit_is_refused_with_a_suggestion(stores: Stores) -> None:
    events = feed(await stores.open(SETS))
    with pytest.raises(InvalidInput) as error:
        await events.page(LOCAL, EventFilter(kinds=("thing.don",)))
    assert "thing.done" in (error.value.hint or "")
    with pytest.raises(InvalidInput, match="room"):
        await events.page(LOCAL, EventFilter(rooms=frozenset({"nowhere"})))


@given(st.text(max_size=40))
def test_no_cursor_makes_the_feed_fail(cursor: str) -> None:
    with suppress(InvalidInput):
        parse_cursor(cursor)
