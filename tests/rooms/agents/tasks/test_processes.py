"""Several processes on one store: what one runs the others follow, answer and cancel; what one leaves another ends."""

import asyncio

import pytest

from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import StatusEvent
from pentad.rooms.agents.tasks.limits import TaskLimits
from tests.rooms.agents.tasks.engines import ADA, TurnedClock, engine, log_of, puppet, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio

HANGS = TaskLimits(lease_seconds=3000.0)
"""Leases that nobody renews or looks at unless the test does."""


class Reviving:
    """Gets stuck the first time and finishes when it is run again."""

    restartable = True

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.begun = asyncio.Event()

    def hosted(self) -> HostedAgent:
        async def reviving(turn: Turn) -> str:
            self.turns.append(turn)
            answer = (await turn.ask("Which one?")).text if turn.text == "ask" else "none"
            self.begun.set()
            if not turn.resumed:
                await asyncio.sleep(3600)
            return f"{turn.text} {answer} {turn.caller.id}"

        reviving.restartable = True
        return hosted(reviving)


async def test_a_task_begun_in_one_process_is_followed_answered_and_canceled_in_another(stores: Stores) -> None:
    async with engine(stores) as one, engine(stores) as other:
        asked = await send(one, "wait")
        answered = await send(other, "red", task_id=asked.id)
        assert (answered.state, answered.status_message.text) == ("completed", "red")
        talking = await send(one, "talk", wait=False)
        following = asyncio.create_task(_states(other, talking.id))
        waiting = asyncio.create_task(send(one, "more", task_id=talking.id))
        async with asyncio.timeout(10):
            while "more" not in [one.text for one in (await other.get(ADA, talking.id)).history]:
                await asyncio.sleep(0.01)
        assert (await other.cancel(ADA, talking.id)).state == "canceled"
        assert (await asyncio.wait_for(following, 10))[-1] == "canceled"
        assert (await asyncio.wait_for(waiting, 10)).state == "canceled"
        async with asyncio.timeout(10):
            while one._log.runs:
                await asyncio.sleep(0.01)
        assert (await one.get(ADA, talking.id)).state == "canceled"


async def _states(tasks, task_id: str) -> list[str]:
    return [one.body.state async for one in tasks.follow(ADA, task_id, after=0) if isinstance(one.body, StatusEvent)]


async def _crash(tasks) -> None:
    """The process is gone: nothing is said any more, nothing renewed, nothing released."""
    await tasks._recovery.stop()
    tasks._log._end()
    for run in list(tasks._log.runs.values()):
        run.stored = False
        run.stop()
    tasks._log.runs.clear()


async def test_what_a_lost_process_ran_is_run_again_by_another_if_the_agent_allows_it(stores: Stores) -> None:
    clock, agent = TurnedClock(), Reviving()
    caller = Principal("key:7", "seven", frozenset({"agents:write"}), "key")
    agents = {"reviving": agent.hosted()}
    async with engine(stores, agents, limits=HANGS) as lost, engine(stores, agents, limits=HANGS, clock=clock) as heir:
        begun = await send(lost, "go", agent="reviving", wait=False, caller=caller)
        asked = await send(lost, "ask", agent="reviving", caller=caller)
        await send(lost, "red", agent="reviving", task_id=asked.id, wait=False, caller=caller)
        async with asyncio.timeout(10):
            await agent.begun.wait()
            while (await heir.get(caller, asked.id)).state != "working":
                await asyncio.sleep(0.01)
        await _crash(lost)
        assert await heir._recovery.take_over() == 0  # the leases still hold
        clock.ahead = 4000.0
        assert await heir._recovery.take_over() == 2
        async with asyncio.timeout(10):
            while heir._log.runs:
                await asyncio.sleep(0.01)
        assert (await heir.get(caller, begun.id)).status_message.text == "go none key:7"
        assert (await heir.get(caller, asked.id)).status_message.text == "ask red key:7"
        again = [turn for turn in agent.turns if turn.resumed]
        assert len(again) == 2
        assert all(turn.caller == caller for turn in again)
        assert await heir._recovery.take_over() == 0


async def test_what_a_lost_process_ran_fails_with_a_reason_if_the_agent_cannot_be_run_again(stores: Stores) -> None:
    clock = TurnedClock()
    agents = {"puppet": hosted(puppet)}
    async with (
        engine(stores, agents, limits=HANGS) as lost,
        engine(stores, agents, limits=HANGS, clock=clock) as heir,
        engine(stores, {}, limits=HANGS, clock=clock) as stranger,
    ):
        talking = await send(lost, "talk", wait=False)
        asked = await send(lost, "ask")
        await _crash(lost)
        clock.ahead = 3100.0
        assert await stranger._recovery.take_over() == 0  # it does not host the agent: somebody else may
        clock.ahead = 4000.0
        assert sum(await asyncio.gather(heir._recovery.take_over(), stranger._recovery.take_over())) == 1
        failed = await heir.get(ADA, talking.id)
        assert failed.state == "failed"
        assert "agent" in failed.status_message.text
        assert (await send(heir, "red", task_id=asked.id)).state == "completed"  # it ended its turn: nobody was lost


async def test_a_process_that_was_only_slow_is_stopped_when_another_has_taken_its_task(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, limits=HANGS) as slow, engine(stores, limits=HANGS, clock=clock) as heir:
        talking = await send(slow, "talk", wait=False)
        clock.ahead = 4000.0
        assert await heir._recovery.take_over() == 1
        async with asyncio.timeout(10):
            while slow._log.runs:
                await asyncio.sleep(0.01)
        events = await log_of(heir, talking)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert events[-1].body.state == "failed"


async def test_renewed_leases_are_not_taken(stores: Stores) -> None:
    clock = TurnedClock()
    limits = TaskLimits(lease_seconds=3000.0)
    async with engine(stores, limits=limits, clock=clock) as one, engine(stores, limits=limits, clock=clock) as other:
        await send(one, "talk", wait=False)
        clock.ahead = 2000.0
        await one._recovery.renew()
        clock.ahead = 4000.0
        assert await other._recovery.take_over() == 0


async def test_a_process_that_ends_in_order_hands_its_tasks_over_at_once(stores: Stores) -> None:
    agent = Reviving()
    agents = {"reviving": agent.hosted()}
    async with engine(stores, agents, limits=HANGS) as heir:
        await heir._recovery.stop()  # its own first look, if it comes late, would find the task before the test does
        async with engine(stores, agents, limits=HANGS) as leaving:
            begun = await send(leaving, "go", agent="reviving", wait=False)
        assert (await heir.get(ADA, begun.id)).state == "working"
        assert await heir._recovery.take_over() == 1
        async with asyncio.timeout(10):
            while heir._log.runs:
                await asyncio.sleep(0.01)
        assert (await heir.get(ADA, begun.id)).state == "completed"
