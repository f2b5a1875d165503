"""A server that is told to stop lets turns finish for a while, and hands over what is left."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from tests.rooms.agents.tasks.engines import ADA, answer_of, ended, engine, send
from tests.stores import Stores
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("agents:durable:drain")]


async def test_a_turn_that_ends_within_the_grace_period_is_completed(stores: Stores) -> None:
    gate, stopping = asyncio.Event(), asyncio.Event()

    async def slow(turn: Turn) -> str:
        await gate.wait()
        return "done"

    agents = {"slow": hosted(slow)}
    stack = AsyncExitStack()
    leaving = await stack.enter_async_context(engine(stores, agents, stopping=stopping, drain_seconds=PATIENCE))
    task = await send(leaving, "go", agent="slow", wait=False)
    stopping.set()
    closing = asyncio.create_task(stack.aclose())
    gate.set()
    await asyncio.wait_for(closing, PATIENCE)
    async with engine(stores, agents, at_work=False) as heir:
        assert answer_of(await heir.get(ADA, task.id)) == "done"


async def test_turns_that_only_wait_are_not_waited_for_and_survive(stores: Stores) -> None:
    stopping = asyncio.Event()

    async def patient(turn: Turn) -> str:
        if turn.text == "sleep":
            await turn.sleep(3_600)
        if turn.text == "wait":
            return (await turn.wait_for("paid")).text
        return (await turn.ask("Which one?")).text

    agents = {"patient": hosted(patient)}
    async with engine(stores, agents, stopping=stopping, drain_seconds=10_000.0) as leaving:
        for text in ("sleep", "wait"):
            await send(leaving, text, agent="patient", wait=False)
        asked = await send(leaving, "ask", agent="patient")
        stopping.set()
    async with engine(stores, agents) as heir:
        answered = await send(heir, "red", agent="patient", task_id=asked.id)
        assert answer_of(answered) == "red"
        page = await heir.list(ADA)
        assert sorted(task.state for task in page.tasks) == ["completed", "working", "working"]


async def test_what_was_done_when_the_server_stopped_is_stored_and_the_turn_is_not_given_up(stores: Stores) -> None:
    done, lines = asyncio.Event(), list[str]()

    async def stuck(turn: Turn) -> str:
        await turn.step("charge", lines.append, "charge")
        await turn.say("Charged.")
        if not done.is_set():
            done.set()
            await asyncio.Event().wait()
        return "done"

    agents = {"stuck": hosted(stuck)}
    async with engine(stores, agents) as leaving:
        task = await send(leaving, "go", agent="stuck", wait=False)
        await asyncio.wait_for(done.wait(), PATIENCE)  # what it did last is not stored yet
    async with engine(stores, agents) as heir:
        (over,) = await ended(heir, ADA, task.id)
        assert (over.state, answer_of(over)) == ("completed", "done")
        assert [one.text for one in over.history] == ["go", "Charged.", "done"]
        assert lines == ["charge"]


async def test_what_is_not_done_in_time_is_handed_over_or_fails_with_a_reason(stores: Stores) -> None:
    stopping, runs = asyncio.Event(), list[str]()

    async def stuck(turn: Turn) -> str:
        runs.append(turn.text)
        if turn.text == "step":
            await turn.step("first", lambda: None)
        if runs.count(turn.text) == 1:
            await asyncio.Event().wait()
        return "done"

    agents = {"stuck": hosted(stuck)}
    async with engine(stores, agents, stopping=stopping, drain_seconds=0.1) as leaving:
        durable = await send(leaving, "step", agent="stuck", wait=False)
        plain = await send(leaving, "plain", agent="stuck", wait=False)
        stopping.set()
    async with engine(stores, agents) as heir:
        first, second = await ended(heir, ADA, durable.id, plain.id)
        assert (first.state, answer_of(first)) == ("completed", "done")
        assert second.state == "failed"
        assert "cannot be run again" in answer_of(second)
