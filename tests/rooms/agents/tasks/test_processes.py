"""Several processes on one store: what one runs the others follow, answer and cancel; what one leaves another ends."""

import asyncio

import pytest

from pentad.jobs.leases import CHANNEL
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Event, StatusEvent
from pentad.rooms.agents.tasks.engine import Tasks
from tests.jobs.working import die
from tests.rooms.agents.tasks.engines import (
    ADA,
    TurnedClock,
    answer_of,
    crash,
    ended,
    engine,
    log_of,
    puppet,
    send,
)
from tests.stores import Stores
from tests.waiting import PATIENCE, until, until_true

pytestmark = pytest.mark.anyio


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
                await asyncio.Event().wait()
            return f"{turn.text} {answer} {turn.caller.id}"

        vars(reviving)["restartable"] = True
        return hosted(reviving)


async def test_a_task_begun_in_one_process_is_followed_answered_and_canceled_in_another(stores: Stores) -> None:
    async with engine(stores) as one, engine(stores) as other:
        asked = await send(one, "wait")
        answered = await send(other, "red", task_id=asked.id)
        assert (answered.state, answer_of(answered)) == ("completed", "red")
        talking = await send(one, "talk", wait=False)
        following = asyncio.create_task(_states(other, talking.id))
        waiting = asyncio.create_task(send(one, "more", task_id=talking.id))
        await until(lambda: other.get(ADA, talking.id), lambda found: "more" in [one.text for one in found.history])
        assert (await other.cancel(ADA, talking.id)).state == "canceled"
        assert (await asyncio.wait_for(following, 60))[-1] == "canceled"
        assert (await asyncio.wait_for(waiting, 60)).state == "canceled"
        await until_true(lambda: not one._log.runs)
        assert (await one.get(ADA, talking.id)).state == "canceled"


async def _states(tasks: Tasks, task_id: str) -> list[str]:
    events = [one async for one in tasks.follow(ADA, task_id, after=0) if isinstance(one, Event)]
    return [one.body.state for one in events if isinstance(one.body, StatusEvent)]


async def _turns(tasks: Tasks) -> list[tuple[str, str | None]]:
    """The state and the worker of every turn under way."""
    sql = "SELECT state, worker FROM jobs WHERE name = 'agents.turn' ORDER BY key"
    return await tasks._log.database.read(lambda rows: rows.all(sql))


@pytest.mark.requirement("jobs:takeover")
async def test_what_a_lost_process_ran_is_run_again_by_another_if_the_agent_allows_it(stores: Stores) -> None:
    agent = Reviving()
    caller = Principal("key:7", "seven", frozenset({"agents:write"}), "key")
    agents = {"reviving": agent.hosted()}
    async with engine(stores, agents) as lost, engine(stores, agents) as heir:
        begun = await send(lost, "go", agent="reviving", wait=False, caller=caller)
        asked = await send(lost, "ask", agent="reviving", caller=caller)
        await send(lost, "red", agent="reviving", task_id=asked.id, wait=False, caller=caller)
        await asyncio.wait_for(agent.begun.wait(), PATIENCE)
        await until(lambda: heir.get(caller, asked.id), lambda found: found.state == "working")
        assert await _turns(heir) == [("running", lost._log.origin)] * 2
        await crash(lost)
        first, second = await ended(heir, caller, begun.id, asked.id)
        assert answer_of(first) == "go none key:7"
        assert answer_of(second) == "ask red key:7"
        again = [turn for turn in agent.turns if turn.resumed]
        assert len(again) == 2
        assert all(turn.caller == caller for turn in again)
        assert await _turns(heir) == []


async def test_what_a_lost_process_ran_fails_with_a_reason_if_the_agent_cannot_be_run_again(stores: Stores) -> None:
    agents = {"puppet": hosted(puppet)}
    async with engine(stores, agents, at_work=False) as lost, engine(stores, agents) as heir:
        talking = await send(lost, "talk", wait=False)
        asked = await send(lost, "ask")
        await crash(lost)
        (failed,) = await ended(heir, ADA, talking.id)
        assert failed.state == "failed"
        assert "agent" in answer_of(failed)
        assert (await send(heir, "red", task_id=asked.id)).state == "completed"  # it ended its turn: nobody was lost


async def test_a_task_waits_for_a_process_that_hosts_its_agent_before_it_fails(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, at_work=False) as lost, engine(stores, {}, clock=clock) as stranger:
        talking = await send(lost, "talk", wait=False)
        await crash(lost)

        async def put_off() -> bool:
            sql = "SELECT payload FROM jobs WHERE state = 'queued'"
            return (await stranger._log.database.lookup(sql) or ("null",))[0] != "null"

        await until(put_off)
        assert (await stranger.get(ADA, talking.id)).state == "working"
        clock.ahead = 601.0
        await stranger._log.database.write(lambda tx: tx.signal(CHANNEL))
        (failed,) = await ended(stranger, ADA, talking.id)
        assert "no longer hosted" in answer_of(failed)


async def test_a_process_that_has_just_started_may_host_the_agent_later(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, at_work=False) as lost, engine(stores, {}, clock=clock) as stranger:
        talking = await send(lost, "talk", wait=False)
        await crash(lost)

        async def since() -> float:
            found = await stranger._log.database.lookup("SELECT payload FROM jobs WHERE state = 'queued'")
            return 0.0 if found is None or found[0] == "null" else float(found[0])

        await until(since)
        first = await since()
        await crash(stranger)
    late = TurnedClock()
    late.ahead = 100_000.0
    async with engine(stores, {}, clock=late) as newcomer:

        async def put_off_again() -> bool:
            found = await newcomer._log.database.lookup("SELECT payload FROM jobs WHERE state = 'queued'")
            return found is not None and found[0] != "null" and float(found[0]) > first

        await until(put_off_again)
        assert (await newcomer.get(ADA, talking.id)).state == "working"


async def test_a_process_that_was_only_slow_is_stopped_when_another_has_taken_its_task(stores: Stores) -> None:
    async with engine(stores, at_work=False) as slow, engine(stores) as heir:
        talking = await send(slow, "talk", wait=False)
        await die(slow._log.jobs)
        await ended(heir, ADA, talking.id)
        await until_true(lambda: not slow._log.runs)
        events = await log_of(heir, talking)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        last = events[-1].body
        assert isinstance(last, StatusEvent)
        assert last.state == "failed"


async def test_what_a_living_process_runs_is_not_taken(stores: Stores) -> None:
    async with engine(stores, at_work=False) as one, engine(stores) as other:
        await send(one, "talk", wait=False)
        jobs = other._log.jobs
        assert not await jobs.database.read(jobs.has_orphans)
        assert await _turns(other) == [("running", one._log.origin)]


async def test_a_process_that_ends_in_order_hands_its_tasks_over_at_once(stores: Stores) -> None:
    agent = Reviving()
    agents = {"reviving": agent.hosted()}
    async with engine(stores, agents, at_work=False) as leaving:
        begun = await send(leaving, "go", agent="reviving", wait=False)
    async with engine(stores, agents, at_work=False) as looking:
        assert (await looking.get(ADA, begun.id)).state == "working"
        assert await _turns(looking) == [("queued", None)]
    async with engine(stores, agents) as heir:
        (done,) = await ended(heir, ADA, begun.id)
        assert done.state == "completed"


async def test_what_a_process_holds_but_does_not_run_is_left_to_others(stores: Stores) -> None:
    agent = Reviving()
    agents = {"reviving": agent.hosted()}
    async with engine(stores, agents, at_work=False) as broken, engine(stores, agents) as heir:
        begun = await send(broken, "go", agent="reviving", wait=False)
        await broken.recovery.release_strays()
        assert await _turns(heir) == [("running", broken._log.origin)], "it runs"
        broken._log.runs[begun.id].stop()  # as if its last write had failed
        await until_true(lambda: not broken._log.runs)
        await broken.recovery.release_strays()
        await broken.recovery.release_strays()
        (done,) = await ended(heir, ADA, begun.id)
        assert done.state == "completed"
