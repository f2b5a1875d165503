"""No history of operations breaks a task: made up, on two engines over one store, some of them at the same time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import PentadError
from pentad.rooms.agents.models import TERMINAL, Event, StatusEvent, Task, apply_events, can_transition
from pentad.rooms.agents.tasks.engine import Tasks
from tests.rooms.agents.tasks.engines import ADA, engine, log_of, said, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio

FIRST = ["hello", "ask", "wait", "talk", "reject", "fail", "chunks 3"]
NEXT = ["cancel", "hello", "ask", "wait", "enough", "reject", "fail", "chunks 3", "get"]
operations = st.lists(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(NEXT)), min_size=1, max_size=3), max_size=4)


@pytest.fixture
async def engines(stores: Stores) -> AsyncIterator[list[Tasks]]:
    async with engine(stores) as one, engine(stores) as other:
        yield [one, other]


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=st.sampled_from(FIRST), rounds=operations)
async def test_whatever_is_done_a_terminal_state_stays_and_the_task_is_the_fold_of_a_log_without_gaps(
    engines: list[Tasks], first: str, rounds: list[list[tuple[int, str]]]
) -> None:
    begun = await engines[0].send(ADA, "puppet", said(first), dialect="1.0", wait=None)
    assert isinstance(begun, Task)
    over: Task | None = None
    for together in rounds:
        await asyncio.gather(*(_do(engines[which], begun.id, what) for which, what in together))
        task = await engines[1].get(ADA, begun.id)
        if over is not None:
            assert task == over
        if task.state in TERMINAL:
            over = task
    with suppress(PentadError):
        await engines[1].cancel(ADA, begun.id)
    task = await engines[0].get(ADA, begun.id)
    assert task.state in TERMINAL
    await _check(engines, task)


async def _do(tasks: Tasks, task_id: str, what: str) -> None:
    with suppress(PentadError):
        if what == "cancel":
            await tasks.cancel(ADA, task_id)
        elif what == "get":
            await tasks.get(ADA, task_id)
        else:
            await send(tasks, what, task_id=task_id, wait=False)


async def _check(engines: list[Tasks], task: Task) -> None:
    events = await log_of(engines[0], task)
    assert [event.seq for event in events] == list(range(1, task.seq + 1))
    blank = Task(
        id=task.id, context_id=task.context_id, agent=task.agent, owner=task.owner, dialect=task.dialect,
        created_at=task.created_at, updated_at=task.created_at, status_at=task.created_at,
    )  # fmt: skip
    assert apply_events(blank, events) == task
    assert await engines[1].get(ADA, task.id) == task
    state = blank.state
    for event in events:
        if isinstance(event.body, StatusEvent):
            assert can_transition(state, event.body.state)
            state = event.body.state
        else:
            assert state not in TERMINAL
    for tasks in engines:
        for after in (0, task.seq // 2, task.seq):
            followed = [event async for event in tasks.follow(ADA, task.id, after=after)]
            assert followed == events[after:]


async def test_everybody_who_follows_or_resumes_sees_every_event_once_and_in_order(engines: list[Tasks]) -> None:
    begun = await send(engines[0], "talk", wait=False)
    followers = [asyncio.create_task(_follow(engines[n % 2], begun.id, breaks=n)) for n in range(6)]
    words = [asyncio.create_task(_talk(engines[n % 2], begun.id, n)) for n in range(4)]
    await asyncio.gather(*words)
    done = await send(engines[1], "enough", task_id=begun.id)
    assert done.state == "completed"
    events = await log_of(engines[0], begun)
    assert len([one for one in done.history if one.role == "user"]) == 4 * 8 + 2
    for followed in await asyncio.wait_for(asyncio.gather(*followers), 60):
        assert followed == events


async def _talk(tasks: Tasks, task_id: str, who: int) -> None:
    for number in range(8):
        await send(tasks, f"{who}.{number}", task_id=task_id, wait=False)


async def _follow(tasks: Tasks, task_id: str, *, breaks: int) -> list[Event]:
    """Follows to the end; breaks off and resumes after every so many events."""
    events: list[Event] = []
    while True:
        following = tasks.follow(ADA, task_id, after=len(events))
        taken = 0
        async for event in following:
            assert isinstance(event, Event)
            events.append(event)
            taken += 1
            if taken == breaks:
                break
        else:
            return events
        await following.aclose()
        if isinstance(event.body, StatusEvent) and event.body.state in TERMINAL:
            return events
