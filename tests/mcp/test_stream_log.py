"""The log of streams, followed from another process's handle on the same store, in both dialects."""

import asyncio

import pytest

from pentad.app import CORE_SETS
from pentad.kernel.clock import SystemClock
from pentad.kernel.default_limits import Limits
from pentad.kernel.ports import Database
from pentad.mcp.revisions import NEWEST_LEGACY
from pentad.mcp.sessions import Session, SessionStore
from pentad.mcp.stream_log import StreamEvent, StreamLog
from tests.behaviour.clocks import TurnedClock
from tests.refusing import read_only
from tests.stores import Stores

pytestmark = pytest.mark.anyio

CLIENT = {"capabilities": {}, "clientInfo": {}}


async def a_session(database: Database, clock: TurnedClock) -> Session:
    book = SessionStore(database, clock, Limits())
    return await book.create("user:ada", "/mcp", NEWEST_LEGACY, CLIENT)


async def followed(log: StreamLog, session: str, stream: str, after: int) -> list[int]:
    async with asyncio.timeout(60):
        return [event.seq async for event in log.follow(session, stream, after) if event is not None]


@pytest.mark.requirement("mcp:resumption:any-process")
async def test_another_process_follows_a_stream_to_its_end(stores: Stores) -> None:
    clock = TurnedClock()
    here, there = await stores.open(CORE_SETS), await stores.open(CORE_SETS)
    session = await a_session(here, clock)
    writing, reading = StreamLog(here, clock), StreamLog(there, clock)
    stream = writing.new_stream()
    writing.append(session.id, StreamEvent(stream, 1, b"one", last=False))
    await writing.flush()
    assert await reading.exists(session.id, stream)
    following = asyncio.create_task(followed(reading, session.id, stream, 0))
    for seq in range(2, 6):
        writing.append(session.id, StreamEvent(stream, seq, b"more", last=seq == 5))
        await asyncio.sleep(0)
    assert await following == [1, 2, 3, 4, 5]
    assert await followed(reading, session.id, stream, 3) == [4, 5]
    assert await followed(reading, session.id, stream, 5) == [], "who saw the last is not kept waiting"
    await writing.close()
    await reading.close()


@pytest.mark.requirement("mcp:resumption:own-session-only")
async def test_a_stream_exists_for_its_own_session_alone(stores: Stores) -> None:
    clock = TurnedClock()
    store = await stores.open(CORE_SETS)
    one, other = await a_session(store, clock), await a_session(store, clock)
    log = StreamLog(store, clock)
    stream = log.new_stream()
    log.append(one.id, StreamEvent(stream, 1, b"x", last=True))
    assert await log.exists(one.id, stream)
    assert not await log.exists(other.id, stream)
    assert await followed(log, one.id, stream, 0) == [1]
    await log.close()


@pytest.mark.requirement("mcp:resumption:kept-an-hour")
async def test_events_go_after_an_hour_and_with_their_session(stores: Stores) -> None:
    clock = TurnedClock()
    store = await stores.open(CORE_SETS)
    session = await a_session(store, clock)
    log = StreamLog(store, clock)
    old, new = log.new_stream(), log.new_stream()
    log.append(session.id, StreamEvent(old, 1, b"x", last=True))
    await log.flush()
    clock.pass_seconds(3601)
    log.append(session.id, StreamEvent(new, 1, b"x", last=True))
    await log.flush()
    assert not await log.exists(session.id, old)
    assert await log.exists(session.id, new)
    book = SessionStore(store, clock, Limits())
    await book.end(session)
    assert not await log.exists(session.id, new)
    log.append(session.id, StreamEvent(new, 2, b"x", last=True))
    await log.flush()
    assert not await log.exists(session.id, new), "a dead session's stream is not written any more"
    await log.close()


@pytest.mark.requirement("mcp:sessions:any-process", "mcp:sessions:delete")
async def test_a_session_made_here_is_found_there_and_ended_everywhere(stores: Stores) -> None:
    here = SessionStore(await stores.open(CORE_SETS), SystemClock(), Limits())
    elsewhere = await stores.open(CORE_SETS)
    there = SessionStore(elsewhere, SystemClock(), Limits())
    session = await here.create("user:ada", "/mcp", NEWEST_LEGACY, CLIENT)
    await here.set_log_level(session, "error")
    found = await there.find(session.id, "user:ada", "/mcp")
    assert found is not None
    assert found.revision is NEWEST_LEGACY
    assert found.log_level == "error"
    assert await there.find(session.id, "user:bob", "/mcp") is None
    assert await there.find(session.id, "user:ada", "/other") is None
    await here.end(session)
    assert await here.find(session.id, "user:ada", "/mcp") is None
    assert await there.find(session.id, "user:ada", "/mcp") is None


@pytest.mark.requirement("storage:health:reads-go-on")
async def test_a_store_that_cannot_write_neither_holds_up_a_stream_nor_the_end(stores: Stores) -> None:
    clock = TurnedClock()
    store = await stores.open(CORE_SETS)
    session = await a_session(store, clock)
    log = StreamLog(store, clock)
    with read_only(store):
        log.append(session.id, StreamEvent(log.new_stream(), 1, b"{}", last=True))
        await log.flush()
        await log.close()
