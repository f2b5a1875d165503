"""Turns end at their deadline, wherever they run; waiting does not count; questions that no one answers end."""

import asyncio
import contextlib
from typing import Any

import pytest

from pentad.agentvault.server import agent
from pentad.jobs.leases import CHANNEL
from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, HostingOptions, hosted
from pentad.rooms.agents.hosting.thread_agent import ThreadTurn
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import DEADLINE_KEY, TERMINAL, StatusEvent, Task
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.engine import Tasks
from tests.rooms.agents.hosting import process_agents
from tests.rooms.agents.tasks.engines import ADA, TurnedClock, answer_of, crash, engine, log_of, puppet, said, send
from tests.stores import Stores
from tests.waiting import PATIENCE, until, until_true

pytestmark = pytest.mark.anyio
LIMITS = TaskLimits(deadline_grace=0.2)
SOON = 0.3
RELEASED: set[str] = set()


@agent(deadline=SOON)
async def slow(turn: Turn) -> Any:
    """Does what its text says, and too slowly."""
    if turn.text == "ask":
        return (await turn.ask("Which one?")).text
    if turn.text == "sleep":
        await turn.sleep(3 * SOON)
        return "slept"
    if turn.text == "partial":
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "half of it"
    while turn.text == "ignore" and turn.id not in RELEASED:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    return None if turn.text == "ignore" else await asyncio.Event().wait()


@agent(deadline=SOON)
def spins(turn: ThreadTurn) -> None:
    while True:
        pass


def agents() -> dict[str, HostedAgent]:
    return {one.name: one for one in (hosted(slow), hosted(spins), hosted(puppet))}


async def ended(tasks: Tasks, task: Task) -> Task:
    return await until(lambda: tasks.get(ADA, task.id), lambda found: found.state in TERMINAL)


async def states(tasks: Tasks, task: Task) -> list[tuple[str, Any]]:
    bodies = [event.body for event in await log_of(tasks, task)]
    return [(one.state, (one.metadata or {}).get(DEADLINE_KEY)) for one in bodies if isinstance(one, StatusEvent)]


async def watched(tasks: Tasks) -> list[str]:
    """The tasks whose time is watched."""
    sql = "SELECT key FROM jobs WHERE name = 'agents.deadlines'"
    return [key for (key,) in await tasks._log.database.read(lambda rows: rows.all(sql))]


@pytest.mark.requirement("agents:deadlines:stages")
@pytest.mark.parametrize("name", ["slow", "spins"])
async def test_a_hung_agent_is_warned_then_stopped_and_its_task_fails(stores: Stores, name: str) -> None:
    clock = TurnedClock()
    patient = HostingOptions(deadlines={"slow": 100.0, "spins": 100.0})
    known = {one.name: one for one in (hosted(slow, options=patient), hosted(spins, options=patient))}
    async with engine(stores, known, limits=LIMITS, clock=clock) as tasks:
        task = await send(tasks, "hang", agent=name, wait=False)
        for seconds, stage in ((79.0, None), (81.0, "near"), (101.0, "passed")):
            clock.ahead = seconds
            await tasks._log.database.write(lambda tx: tx.signal(CHANNEL))
            await until(lambda: states(tasks, task), lambda found, stage=stage: ("working", stage) in found)
        failed = await ended(tasks, task)
        assert (failed.state, answer_of(failed)) == ("failed", "The agent did not finish before its deadline.")
        assert await states(tasks, task) == [
            ("working", None), ("working", "near"), ("working", "passed"), ("failed", None),
        ]  # fmt: skip
        assert await watched(tasks) == []


@pytest.mark.requirement("agents:deadlines:stages")
async def test_an_agent_that_does_not_stop_fails_after_the_grace_period(stores: Stores) -> None:
    async with engine(stores, agents(), limits=LIMITS) as tasks:
        failed = await ended(tasks, await send(tasks, "ignore", agent="slow", wait=False))
        RELEASED.add(failed.id)
        assert failed.state == "failed"
        assert "within 0.3 seconds" in answer_of(failed)


@pytest.mark.requirement("agents:deadlines:stages")
async def test_what_an_agent_returns_when_it_is_stopped_counts(stores: Stores) -> None:
    async with engine(stores, agents(), limits=TaskLimits(deadline_grace=PATIENCE)) as tasks:
        done = await ended(tasks, await send(tasks, "partial", agent="slow", wait=False))
        assert (done.state, answer_of(done)) == ("completed", "half of it")


@pytest.mark.requirement("agents:deadlines:process")
async def test_the_process_of_an_agent_ends_at_its_deadline(stores: Stores) -> None:
    worker = hosted(process_agents.worker)
    late = {"worker": HostedAgent("worker", worker.run, worker.agent, isolation="process", deadline=SOON)}
    async with engine(stores, late, limits=LIMITS) as tasks:
        assert (await ended(tasks, await send(tasks, "listen", agent="worker", wait=False))).state == "failed"


@pytest.mark.requirement("agents:deadlines:waiting")
async def test_waiting_for_an_answer_or_a_time_does_not_count(stores: Stores) -> None:
    async with engine(stores, agents(), limits=LIMITS) as tasks:
        asked = await send(tasks, "ask", agent="slow")
        assert await watched(tasks) == [asked.id]
        await until(lambda: watched(tasks), lambda found: not found)
        assert (await tasks.get(ADA, asked.id)).state == "input-required"
        assert answer_of(await send(tasks, "red", agent="slow", task_id=asked.id)) == "red"
        assert answer_of(await send(tasks, "sleep", agent="slow")) == "slept"


@pytest.mark.requirement("agents:deadlines:task")
async def test_a_caller_sets_a_deadline_for_the_whole_task(stores: Stores) -> None:
    async with engine(stores, agents(), limits=LIMITS) as tasks:
        for text in ("talk", "wait", "ask"):
            message = said(text, metadata={DEADLINE_KEY: SOON})
            task = await tasks.send(ADA, "puppet", message, dialect="1.0", wait=False)
            assert isinstance(task, Task)
            failed = await ended(tasks, task)
            assert failed.state == "failed"
            assert "deadline" in answer_of(failed)
        for wrong in (0, -1, "soon", True, float("nan"), 1e300):
            with pytest.raises(InvalidInput):
                await tasks.send(ADA, "puppet", said("hi", metadata={DEADLINE_KEY: wrong}), dialect="1.0")
        done = await tasks.send(ADA, "puppet", said("hi", metadata={DEADLINE_KEY: PATIENCE}), dialect="1.0")
        assert isinstance(done, Task)
        assert done.state == "completed"
        assert await watched(tasks) == []


@pytest.mark.requirement("agents:deadlines:processes")
async def test_another_process_ends_the_turn_of_one_that_does_not_answer(stores: Stores) -> None:
    async with (
        engine(stores, agents(), limits=LIMITS, at_work=False) as one,
        engine(stores, agents(), limits=LIMITS) as other,
    ):
        stopped = await send(one, "hang", agent="slow", wait=False)
        assert (await ended(other, stopped)).state == "failed"
        stuck = await send(one, "hang", agent="slow", wait=False)
        for run in one._log.runs.values():
            vars(run).update(receive_events=_hear_nothing, read_log=_hear_nothing)  # its loop is blocked
        failed = await ended(other, stuck)
        assert "did not finish within" in answer_of(failed)
        assert one._log.runs[stuck.id].stopped is False
        one._log.runs[stuck.id].emit(StatusEvent("working"))
        await until(lambda: one.get(ADA, stuck.id), lambda found: found.state == "failed")
        assert (await log_of(one, stuck))[-1].body == (await log_of(other, stuck))[-1].body


@pytest.mark.requirement("agents:deadlines:processes")
async def test_a_deadline_outlives_the_process(stores: Stores) -> None:
    async with engine(stores, agents(), limits=LIMITS, at_work=False) as lost:
        asked = await tasks_with_deadline(lost)
        await crash(lost)
    async with engine(stores, agents(), limits=LIMITS) as heir:
        assert "deadline" in answer_of(await ended(heir, asked))


def _hear_nothing(*_events: Any) -> None: ...


async def tasks_with_deadline(tasks: Tasks) -> Task:
    asked = await tasks.send(ADA, "puppet", said("wait", metadata={DEADLINE_KEY: SOON}), dialect="1.0")
    assert isinstance(asked, Task)
    return asked


@pytest.mark.requirement("agents:deadlines:abandoned")
async def test_a_question_that_no_one_answers_ends(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, clock=clock) as tasks:
        abandoned, awaited = await send(tasks, "ask"), await send(tasks, "wait")
        clock.ahead = 29 * 86_400.0
        fresh = await send(tasks, "ask")
        assert await tasks.deadlines.end_abandoned() == 0
        clock.ahead = 31 * 86_400.0
        assert await tasks.deadlines.end_abandoned() == 2
        for task in (abandoned, awaited):
            over = await tasks.get(ADA, task.id)
            assert (over.state, answer_of(over)) == ("canceled", "No one answered within 30 days.")
        assert (await tasks.get(ADA, fresh.id)).state == "input-required"
        await until_true(lambda: not tasks._log.runs)


@pytest.mark.requirement("agents:approvals:deadline")
async def test_an_approval_has_its_own_deadline_and_is_not_abandoned_before(stores: Stores) -> None:
    async def payer(turn: Turn) -> str:
        return (await turn.approve("Pay", by="admin", deadline=60 * 86_400.0)).outcome

    clock = TurnedClock()
    async with engine(stores, {"payer": hosted(payer)}, clock=clock) as tasks:
        asked = await send(tasks, "900 EUR", agent="payer")
        clock.ahead = 31 * 86_400.0
        assert await tasks.deadlines.end_abandoned() == 0
        clock.ahead = 61 * 86_400.0
        await tasks._log.database.write(lambda tx: tx.signal(CHANNEL))
        assert answer_of(await ended(tasks, asked)) == "expired"


async def test_questions_wait_for_ever_if_the_operator_says_so(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, clock=clock, limits=TaskLimits(abandoned_days=0)) as tasks:
        await send(tasks, "ask")
        clock.ahead = 1_000 * 86_400.0
        assert await tasks.deadlines.end_abandoned() == 0
