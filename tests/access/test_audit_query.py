"""The trail is read by filters, in pages that neither repeat nor miss, and exported whole."""

from typing import Any

import pytest

from pentad.access import audit_query
from pentad.access.audit import AuditEntry, AuditTrail, make_batch
from pentad.access.audit_query import AuditFilter, export, read_filter, read_page, read_time
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ids import uuid7
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.kernel.trace import RequestMark, request_mark
from tests.access.clocks import TurnedClock

pytestmark = pytest.mark.anyio

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ADA = Principal("user:ada", "Ada", frozenset({"*:admin"}), "user", "", "user:ada")


def entry(number: int, **changes: Any) -> AuditEntry:
    made = AuditEntry(1_800_000_000.0 + number, "user:ada", "directory", "search", "ok", 1_500, str(number))
    return made._replace(**changes)


async def fill(db: Database, batches: int = 7, each: int = 3) -> TurnedClock:
    clock = TurnedClock()
    trail = AuditTrail(db, clock=clock)
    for number in range(batches):
        clock.advance(1)
        for one in range(each):
            trail.record(entry(number * each + one))
        await trail.flush()
    return clock


async def ids(db: Database, wanted: AuditFilter, limit: int) -> list[list[str]]:
    """The request ids of all pages."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = await db.read(lambda rows, cursor=cursor: read_page(rows, wanted, limit, cursor))
        pages.append([one.entry.request_id for one in page.entries])
        cursor = page.cursor
        if cursor is None:
            return pages


@pytest.mark.requirement("access:audit:read")
async def test_pages_neither_repeat_nor_miss_an_entry(db: Database) -> None:
    await fill(db)
    everything = [str(number) for number in reversed(range(21))]
    for limit in (1, 2, 3, 4, 20, 21, 100):
        pages = await ids(db, AuditFilter(), limit)
        assert [one for page in pages for one in page] == everything
        assert all(len(page) <= limit for page in pages)


async def test_a_page_reads_a_bounded_part_of_the_trail(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(db)
    monkeypatch.setattr(audit_query, "BATCHES_READ", 2)
    pages = await ids(db, AuditFilter(trace="4"), 10)
    assert pages == [[], [], ["4"], []]


async def test_entries_that_arrive_meanwhile_move_nothing(db: Database) -> None:
    await fill(db)
    first = await db.read(lambda rows: read_page(rows, AuditFilter(), 4))
    trail = AuditTrail(db)
    trail.record(entry(99))
    await trail.flush()
    second = await db.read(lambda rows: read_page(rows, AuditFilter(), 4, first.cursor))
    assert [one.entry.request_id for one in second.entries] == ["16", "15", "14", "13"]


@pytest.mark.requirement("access:audit:read")
async def test_filters(db: Database) -> None:
    trail = AuditTrail(db)
    for one in (
        entry(1),
        entry(2, principal="key:abc", outcome="forbidden"),
        entry(3, room="metrics", tool="show", trace=TRACE),
        entry(4, principal="anonymous", room="access", tool="login", outcome="unauthenticated", login="user ada"),
        entry(5, principal="user:eve", credential="key:abc", outcome="503"),
        entry(6, principal="user:eve", room="access", tool="user added", target="user:ada"),
        entry(7, principal="user:eve", tool='odd "name" é'),
    ):
        trail.record(one)
    await trail.flush()

    async def seen(**given: Any) -> list[str]:
        return (await ids(db, AuditFilter(**given), 100))[0]

    assert await seen(user="ada") == ["6", "4", "3", "1"], "failed logins and events about a user count"
    assert await seen(user="key:abc") == ["5", "2"]
    assert await seen(principal="user:ada") == ["3", "1"]
    assert await seen(outcome="failed") == ["5", "4", "2"]
    assert await seen(outcome="503") == ["5"]
    assert await seen(room="access") == ["6", "4"]
    assert await seen(tool='odd "name" é') == ["7"]
    assert await seen(trace=TRACE[3:35]) == ["3"]
    assert await seen(trace=TRACE) == ["3"]
    assert await seen(trace="5") == ["5"]
    assert await seen(since=1_800_000_006.0, until=1_800_000_006.5) == []
    assert await seen(user="ada", room="metrics", outcome="ok") == ["3"]
    assert await seen(user="mallory") == []


async def test_until_finds_entries_that_waited_for_the_store(db: Database) -> None:
    clock = await fill(db)
    assert (await ids(db, AuditFilter(until=1_800_000_002.0, since=1_800_000_001.0), 100))[0] == ["2", "1"]
    assert clock.now() > 1_800_000_002.0


async def test_an_export_has_everything_oldest_first_and_what_is_older_than_the_chain(db: Database) -> None:
    old = make_batch(uuid7(TurnedClock(1_700_000_000.0)), [entry(-1)])
    sql = "INSERT INTO audit_batches (id, size, entries) VALUES (?, ?, ?)"
    await db.write(lambda tx: tx.run(sql, old.id, old.size, old.entries))
    await fill(db, batches=60, each=2)

    async def told(wanted: AuditFilter, after: int | None = None) -> list[str]:
        return [one.entry.request_id async for _, part in export(db, wanted, after=after) for one in part]

    assert await told(AuditFilter()) == [str(number) for number in range(-1, 120)]
    assert await told(AuditFilter(trace="7")) == ["7"]
    assert await told(AuditFilter(), after=58) == ["116", "117", "118", "119"]
    assert await told(AuditFilter(since=1_800_000_050.0)) == [str(number) for number in range(50, 120)]
    assert await told(AuditFilter(), after=60) == []


def test_texts_become_a_filter() -> None:
    now = 1_800_000_000.0
    given = {"user": " Ada ", "room": "", "tool": None, "since": "2h", "until": "2027-01-15T08:00:00Z", "other": "x"}
    assert read_filter(given, now) == AuditFilter(user="ada", since=now - 7_200, until=now)
    assert read_filter({"user": "key:AbC"}, now) == AuditFilter(user="key:AbC")
    for text in ("soon", "5 y", "2026-13-01", "9999999d"):
        with pytest.raises(InvalidInput):
            read_time("since", text, now)


@pytest.mark.parametrize("cursor", ["x", "00.1", "z" * 32 + ".1", "a" * 32])
async def test_a_forged_cursor_is_refused(db: Database, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        await db.read(lambda rows: read_page(rows, AuditFilter(), 1, cursor))


@pytest.mark.requirement("admin:events")
async def test_an_event_says_who_did_what_to_whom_in_which_request(db: Database) -> None:
    trail = AuditTrail(db)
    mark = request_mark.set(RequestMark("r-1", TRACE[3:35], TRACE))
    try:
        trail.event(ADA, "key created", target="key:abc", reason="of user:bob, *:read")
    finally:
        request_mark.reset(mark)
    token = "ghp_" + "a1B2" * 9
    trail.event(ADA, "user added", target=f"user:{token}")
    await trail.flush()
    odd, made = await trail.recent()
    assert (made.principal, made.room, made.tool, made.target) == ("user:ada", "access", "key created", "key:abc")
    assert (made.request_id, made.trace, made.outcome) == ("r-1", TRACE, "ok")
    assert token not in repr(odd)
