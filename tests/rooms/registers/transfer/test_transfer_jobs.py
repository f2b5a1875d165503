"""Imports and exports as jobs: followed, cancelled, taken over, and seen by nobody else."""

import asyncio
import threading
from typing import Any

import pytest

from pentad.kernel.errors import Forbidden, InvalidInput, LimitExceeded, NotFound
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer import imports, transfer_jobs
from pentad.rooms.registers.transfer.transfer_jobs import JOB, TransferState
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, opened, with_trees
from tests.stores import Stores

pytestmark = pytest.mark.anyio


def numbered(count: int) -> bytes:
    return ("number,height\n" + "".join(f"T-{number},{number}\n" for number in range(count))).encode()


async def ended(registers: Registers, caller: Caller, state: TransferState) -> TransferState:
    async with asyncio.timeout(30):
        while not state.is_over:
            await registers.platform.jobs.wait_until_done(JOB, state.id, 5)
            state = await registers.transfers.get(caller, state.id)
    return state


async def total(registers: Registers, pair: Pair) -> int | None:
    return (await registers.objects.find(ADMIN, pair, Query(limit=0))).total


@pytest.mark.requirement("registers:transfer:jobs")
async def test_an_import_runs_in_the_background_and_ends_with_its_report(registers: Registers, trees: Pair):
    caller = Caller(WRITER.principal, agent="desk", reason="survey")
    started = await registers.transfers.start_import(caller, trees, numbered(1_200), "csv", {})
    state = await ended(registers, WRITER, started)
    assert (state.state, state.wire()["created"]) == ("done", 1_200)
    assert await total(registers, trees) == 1_200
    [row] = (await registers.objects.find(ADMIN, trees, Query(limit=1))).rows
    [change] = await registers.history.of(ADMIN, trees, row[1])
    assert (change.principal, change.agent, change.reason) == (WRITER.principal.id, "desk", "survey")
    left = await registers.platform.database.read(lambda rows: rows.value("SELECT count(*) FROM transfer_pieces"))
    assert left == 0


@pytest.mark.requirement("registers:transfer:jobs")
async def test_an_import_with_a_bad_row_fails_and_writes_nothing(registers: Registers, trees: Pair):
    started = await registers.transfers.start_import(WRITER, trees, numbered(3) + b"T-x,1\n", "csv", {})
    state = await ended(registers, WRITER, started)
    assert (state.state, state.wire()["problems"][0]["row"]) == ("failed", 5)
    assert await total(registers, trees) == 0
    broken = await registers.transfers.start_import(WRITER, trees, b"nonsense\n1\n", "csv", {})
    state = await ended(registers, WRITER, broken)
    assert state.state == "failed"
    assert "cannot be imported" in state.wire()["error"]["message"]


@pytest.mark.requirement("registers:transfer:jobs")
async def test_an_export_is_a_file_for_its_owner_alone(registers: Registers, trees: Pair):
    await registers.objects.create(WRITER, trees, {"number": "T-1", "height": 5})
    started = await registers.transfers.start_export(WRITER, trees, "csv", {"fields": ["number"]})
    state = await ended(registers, WRITER, started)
    assert (state.state, state.wire()["rows"]) == ("done", 1)
    _, pieces = await registers.transfers.content(WRITER, state.id)
    text = b"".join([piece async for piece in pieces]).decode("utf-8-sig")
    assert text.splitlines()[0] == "_id,_version,number"
    for caller in (OTHER, ADMIN):
        absent = state.id[::-1]
        for work in (registers.transfers.get, registers.transfers.cancel, registers.transfers.content):
            with pytest.raises(NotFound) as refused:
                await work(caller, state.id)
            with pytest.raises(NotFound) as missing:
                await work(caller, absent)
            assert str(refused.value).replace(state.id, absent) == str(missing.value)
        assert await registers.transfers.list(caller) == []
    with pytest.raises(InvalidInput):
        await registers.transfers.start_export(WRITER, trees, "csv", {"filter": {"heigth": 1}})


@pytest.mark.requirement("registers:transfer:resumed")
async def test_a_partial_import_that_is_taken_over_repeats_nothing(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _taken_over(stores, monkeypatch, partial=True)


@pytest.mark.requirement("registers:transfer:resumed")
async def test_a_whole_import_that_is_taken_over_is_written_once(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _taken_over(stores, monkeypatch, partial=False)


async def _taken_over(stores: Stores, monkeypatch: pytest.MonkeyPatch, *, partial: bool) -> None:
    """The first process commits a part (or all) and is lost before it can say so."""
    monkeypatch.setattr(imports, "_CHUNK_ROWS", 100)
    original = transfer_jobs.TransferJobs._finish
    lost = asyncio.Event()

    async def lose(self: Any, *arguments: Any) -> None:
        lost.set()
        await asyncio.Event().wait()

    async with opened(stores) as first:
        trees = await with_trees(first)
        monkeypatch.setattr(transfer_jobs.TransferJobs, "_finish", lose)
        started = await first.transfers.start_import(WRITER, trees, numbered(250), "csv", {"partial": partial})
        async with asyncio.timeout(30):
            await lost.wait()
        saved = (await first.transfers.get(WRITER, started.id)).rows_done
    assert saved == 250
    monkeypatch.setattr(transfer_jobs.TransferJobs, "_finish", original)
    async with opened(stores) as second:
        state = await ended(second, WRITER, started)
        assert (state.state, state.wire()["created"], state.wire()["failed"]) == ("done", 250, 0)
        assert await total(second, trees) == 250


@pytest.mark.requirement("registers:transfer:resumed")
async def test_a_partial_import_goes_on_where_it_was_interrupted(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "_CHUNK_ROWS", 100)
    stuck = asyncio.Event()
    original = imports._Run._some

    def interrupted(self: Any, rows: Any, done: int, *rest: Any) -> Any:
        if done > 100:
            stuck.set()
            raise asyncio.CancelledError
        return original(self, rows, done, *rest)

    async with opened(stores) as first:
        trees = await with_trees(first)
        monkeypatch.setattr(imports._Run, "_some", interrupted)
        started = await first.transfers.start_import(WRITER, trees, numbered(250), "csv", {"partial": True})
        async with asyncio.timeout(30):
            await stuck.wait()
        assert await total(first, trees) == 100
    monkeypatch.setattr(imports._Run, "_some", original)
    async with opened(stores) as second:
        state = await ended(second, WRITER, started)
        assert (state.state, state.wire()["created"], state.wire()["failed"]) == ("done", 250, 0)
        assert await total(second, trees) == 250


@pytest.mark.requirement("registers:transfer:resumed")
async def test_a_process_that_lost_the_job_writes_nothing(registers: Registers, trees: Pair, monkeypatch: Any):
    """Another process, which then dies, takes the job over just before the import writes."""
    original = imports._Run.write
    robbed = asyncio.Event()

    async def rob(self: Any) -> None:
        if not robbed.is_set():
            robbed.set()
            sql = "UPDATE jobs SET lease = lease + 1, worker = 'another' WHERE name = ?"
            await registers.platform.database.write(lambda tx: tx.run(sql, JOB))
        await original(self)

    monkeypatch.setattr(imports._Run, "write", rob)
    started = await registers.transfers.start_import(WRITER, trees, numbered(3), "csv", {})
    state = await ended(registers, WRITER, started)
    assert robbed.is_set()
    assert (state.state, state.wire()["created"]) == ("done", 3)
    assert await total(registers, trees) == 3
    [row, *_] = (await registers.objects.find(ADMIN, trees, Query(limit=1))).rows
    assert len(await registers.history.of(ADMIN, trees, row[1])) == 1


@pytest.mark.requirement("registers:transfer:jobs")
async def test_a_cancelled_import_writes_nothing(registers: Registers, trees: Pair, monkeypatch: Any):
    reached, go_on, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()
    monkeypatch.setattr(imports, "_CHUNK_ROWS", 10)
    original = imports._Run._read_some

    def slow(self: Any, rows: Any) -> bool:
        loop.call_soon_threadsafe(reached.set)
        assert go_on.wait(30)
        return original(self, rows)

    monkeypatch.setattr(imports._Run, "_read_some", slow)
    started = await registers.transfers.start_import(WRITER, trees, numbered(1_000), "csv", {})
    await asyncio.wait_for(reached.wait(), 30)
    state = await registers.transfers.cancel(WRITER, started.id)
    go_on.set()
    assert state.state == "cancelled"
    assert (await registers.transfers.cancel(WRITER, started.id)).state == "cancelled"
    assert await total(registers, trees) == 0
    assert await registers.platform.jobs.stored(name=JOB) == []


@pytest.mark.requirement("registers:transfer:jobs")
async def test_the_rights_are_those_of_the_moment(registers: Registers, trees: Pair, monkeypatch: Any):
    reader = Caller(WRITER.principal.reading_only())
    with pytest.raises(Forbidden):
        await registers.catalogue.pair(reader, trees.register.id, trees.schema.id, "create")
    held = asyncio.Event()
    original = transfer_jobs.TransferJobs.run

    async def late(self: Any, run: Any) -> None:
        await held.wait()
        await original(self, run)

    monkeypatch.setattr(transfer_jobs.TransferJobs, "run", late)
    started = await registers.transfers.start_import(WRITER, trees, numbered(3), "csv", {})
    object.__setattr__(registers.platform, "owner_now", lambda rows, saved: None)
    held.set()
    state = await ended(registers, WRITER, started)
    assert (state.state, state.wire()["error"]["code"]) == ("failed", "forbidden")
    assert await total(registers, trees) == 0


@pytest.mark.requirement("registers:transfer:jobs")
async def test_files_and_jobs_are_bounded(registers: Registers, trees: Pair, monkeypatch: Any):
    with pytest.raises(LimitExceeded, match="the limit is"):
        await registers.transfers.start_import(
            WRITER, trees, b"x" * (registers.platform.limits.upload_bytes + 1), "csv", {}
        )
    monkeypatch.setattr(transfer_jobs, "MOST_EXPORTED", 10)
    await registers.objects.create(WRITER, trees, {"number": "T-1"})
    state = await ended(registers, WRITER, await registers.transfers.start_export(WRITER, trees, "csv", {}))
    assert (state.state, state.wire()["error"]["code"]) == ("failed", "limit_exceeded")


@pytest.mark.requirement("registers:transfer:jobs")
async def test_a_cancelled_partial_import_says_what_it_wrote(registers: Registers, trees: Pair, monkeypatch: Any):
    monkeypatch.setattr(imports, "_CHUNK_ROWS", 100)
    reached, go_on = asyncio.Event(), asyncio.Event()

    def told(phase: str, done: int, total: int | None) -> None:
        if phase == "writing":
            reached.set()

    monkeypatch.setattr(transfer_jobs.TransferJobs, "_reporter", lambda self, key: told)
    write = registers.objects.write_with_retry

    async def slow(*arguments: Any) -> Any:
        if reached.is_set():
            await go_on.wait()
        return await write(*arguments)

    monkeypatch.setattr(registers.objects, "write_with_retry", slow)
    started = await registers.transfers.start_import(WRITER, trees, numbered(250), "csv", {"partial": True})
    await asyncio.wait_for(reached.wait(), 30)
    state = await registers.transfers.cancel(WRITER, started.id)
    go_on.set()
    assert (state.state, state.wire()["created"]) == ("cancelled", 100)
    assert await total(registers, trees) == 100


@pytest.mark.requirement("registers:transfer:jobs")
async def test_what_was_written_as_a_whole_is_not_called_cancelled(registers: Registers, trees: Pair, monkeypatch: Any):
    finish = transfer_jobs.TransferJobs._finish
    written, go_on = asyncio.Event(), asyncio.Event()

    async def late(self: Any, *arguments: Any) -> None:
        written.set()
        await go_on.wait()
        await finish(self, *arguments)

    monkeypatch.setattr(transfer_jobs.TransferJobs, "_finish", late)
    started = await registers.transfers.start_import(WRITER, trees, numbered(3), "csv", {})
    await asyncio.wait_for(written.wait(), 30)
    assert (await registers.transfers.cancel(WRITER, started.id)).state == "running"
    go_on.set()
    state = await ended(registers, WRITER, started)
    assert (state.state, state.wire()["created"]) == ("done", 3)
