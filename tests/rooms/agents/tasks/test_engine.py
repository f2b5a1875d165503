"""Sends, turns, cancellations and lists, on both stores."""

import asyncio
import gc
import logging
import weakref
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ports import Transaction
from pentad.rooms.agents.hosting.hosted_agent import hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import ArtifactEvent, Event, Message, Part, StatusEvent, Task
from pentad.rooms.agents.settings import TaskLimits
from tests.rooms.agents.tasks.engines import ADA, ODA, SETS, answer_of, engine, log_of, said, send
from tests.stores import Stores

pytestmark = pytest.mark.anyio

T = TypeVar("T")


async def test_an_agent_that_answers_at_once_costs_one_transaction(stores: Stores) -> None:
    database = await stores.open(SETS)
    async with engine(stores, database=database) as tasks:
        await send(tasks, "hello")  # counts what the owner has
        writes = 0
        plain = database.write

        async def counted(work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
            nonlocal writes
            writes += 1
            return await plain(work, brief=brief, locking=locking)

        tasks._log.database.write = counted
        task = await send(tasks, "chunks 20")
        del tasks._log.database.write
        assert writes == 1
        assert task.state == "completed"
        assert "".join(str(part.text) for part in task.artifacts[0].parts).split() == [str(n) for n in range(20)]
        assert [message.text for message in task.history] == ["chunks 20", "done"]
        assert await tasks.get(ADA, task.id) == task


async def test_a_run_that_ends_at_once_is_gone_without_the_garbage_collector(stores: Stores) -> None:
    seen: list[weakref.ref[Any]] = []

    async def watched(turn: Turn) -> str:
        seen.append(weakref.ref(turn._run))
        return "so"

    async with engine(stores, {"watched": hosted(watched)}) as tasks:
        gc.disable()
        try:
            for _ in range(3):
                await tasks.send(ADA, "watched", said("now"), dialect="1.0")
            assert [one() for one in seen[:2]] == [None, None]  # a store may know its last unit of work for a while
        finally:
            gc.enable()


async def test_every_way_to_end_a_turn_ends_the_task_so(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    async with engine(stores) as tasks:
        for text, state, word in (
            ("hello", "completed", "hello"),
            ("reject", "rejected", "Not that."),
            ("fail", "failed", "It broke."),
            ("ask", "input-required", "Which one?"),
        ):
            task = await send(tasks, text)
            assert (task.state, answer_of(task)) == (state, word)
        with caplog.at_level(logging.ERROR):
            crashed = await send(tasks, "crash")
        assert crashed.state == "failed"
        assert "incident" in answer_of(crashed)
        assert "secret" not in answer_of(crashed)
        answer = await tasks.send(ADA, "puppet", said("reply"), dialect="1.0")
        assert isinstance(answer, Message)
        assert answer.text == "just so"
        assert (await tasks.list(ADA)).total == 5


async def test_an_answer_goes_to_the_run_that_asked_or_begins_the_next_one(stores: Stores) -> None:
    async with engine(stores) as tasks:
        for text, rest in (("wait", "red"), ("ask", "red")):
            asked = await send(tasks, text)
            assert asked.state == "input-required"
            done = await send(tasks, rest, task_id=asked.id)
            assert (done.state, answer_of(done)) == ("completed", "red")
            assert [message.text for message in done.history] == [text, "Which one?", "red", "red"]
            with pytest.raises(Conflict) as refused:
                await send(tasks, "more", task_id=asked.id)
            assert refused.value.details["reason"] == "task-terminal"


async def test_what_is_said_to_a_working_task_reaches_it(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "talk", wait=False)
        assert task.state == "working"
        await send(tasks, "one", task_id=task.id, wait=False)
        done = await send(tasks, "enough", task_id=task.id)
        by_role = {role: [one.text for one in done.history if one.role == role] for role in ("user", "agent")}
        assert by_role == {"user": ["talk", "one", "enough"], "agent": ["Listening.", "one", "bye"]}


async def test_a_context_of_another_task_is_refused_and_the_own_one_is_kept(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "ask", context_id="garden")
        assert task.context_id == "garden"
        with pytest.raises(InvalidInput) as refused:
            await send(tasks, "red", task_id=task.id, context_id="house")
        assert refused.value.details["reason"] == "context-mismatch"
        assert (await send(tasks, "red", task_id=task.id)).context_id == "garden"


async def test_starting_gives_the_task_before_the_agent_and_following_gives_the_rest(stores: Stores) -> None:
    async with engine(stores) as tasks:
        for text in ("chunks 3", "talk"):
            begun = await tasks.send(ADA, "puppet", said(text), dialect="1.0", wait=None)
            assert isinstance(begun, Task)
            assert (begun.state, begun.seq) == ("submitted", 1)
            events = []
            async with aclosing(tasks.follow(ADA, begun.id, after=begun.seq)) as following:
                async for event in following:
                    events.append(event)
                    if text == "talk" and len(events) == 2:
                        await tasks.cancel(ADA, begun.id)
            assert [event.seq for event in events] == list(range(2, 2 + len(events)))
            assert events[0].body == StatusEvent("working")
            assert events[-1].body.state == ("completed" if text == "chunks 3" else "canceled")


async def test_a_canceled_task_stays_canceled_and_its_agent_is_told(stores: Stores) -> None:
    told = asyncio.Event()

    async def stubborn(turn: Turn) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert turn.canceled.is_set()
            told.set()
        return "too late"

    async with engine(stores, {"stubborn": hosted(stubborn)}) as tasks:
        task = await send(tasks, "go", agent="stubborn", wait=False)
        canceled = await tasks.cancel(ADA, task.id)
        assert canceled.state == "canceled"
        await asyncio.wait_for(told.wait(), 60)
        assert await tasks.cancel(ADA, task.id) == canceled
        await asyncio.gather(*(run.handle for run in tasks._log.runs.values() if run.handle is not None))
        assert [event.body for event in await log_of(tasks, task)][-1] == StatusEvent("canceled")


@pytest.mark.requirement("agents:tasks:cancel-again")
async def test_of_many_cancellations_one_counts_and_all_succeed(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "talk", wait=False)
        canceled = await asyncio.gather(*(tasks.cancel(ADA, task.id) for _ in range(5)))
        assert {one.state for one in canceled} == {"canceled"}
        ends = [event.body for event in await log_of(tasks, task) if isinstance(event.body, StatusEvent)]
        assert ends.count(StatusEvent("canceled")) == 1
        with pytest.raises(NotFound):
            await tasks.cancel(ODA, task.id)


async def test_a_task_that_ended_otherwise_cannot_be_canceled(stores: Stores) -> None:
    async with engine(stores) as tasks:
        task = await send(tasks, "hello")
        assert task.state == "completed"
        with pytest.raises(Conflict) as refused:
            await tasks.cancel(ADA, task.id)
        assert refused.value.details["reason"] == "not-cancelable"


async def test_a_waiting_send_ends_when_somebody_cancels(stores: Stores) -> None:
    async with engine(stores) as tasks:
        waiting = asyncio.create_task(send(tasks, "talk"))
        while not (found := (await tasks.list(ADA)).tasks):
            await asyncio.sleep(0)
        await tasks.cancel(ADA, found[0].id)
        assert (await asyncio.wait_for(waiting, 60)).state == "canceled"


async def test_tasks_are_known_to_their_owner_only(stores: Stores) -> None:
    async with engine(stores) as tasks, engine(stores) as elsewhere:
        task = await send(tasks, "ask")
        for one in (tasks, elsewhere):
            for attempt in (
                one.get(ODA, task.id),
                one.cancel(ODA, task.id),
                anext(one.follow(ODA, task.id, after=0)),
                one.push.list(ODA, task.id),
                anext(one.follow(ODA, task.id)),
                send(one, "red", task_id=task.id, caller=ODA),
                one.get(ADA, task.id, agent="other"),
                one.get(ADA, "no\0where"),
            ):
                with pytest.raises(NotFound) as refused:
                    await attempt
                assert refused.value.details["reason"] == "task-not-found"
            assert (await one.list(ODA)).total == 0
        assert (await elsewhere.get(ADA, task.id)) == task


async def test_a_list_is_newest_first_and_pages_through_everything_once(stores: Stores) -> None:
    async with engine(stores) as tasks:
        made = [(await send(tasks, "hello" if n % 3 else "ask", context_id=f"c{n % 2}")).id for n in range(9)]
        seen: list[str] = []
        cursor = None
        while True:
            page = await tasks.list(ADA, page_size=4, cursor=cursor)
            seen += [task.id for task in page.tasks]
            assert page.total == 9
            if (cursor := page.next) is None:
                break
        assert sorted(seen) == sorted(made)
        assert [await tasks.get(ADA, task) for task in seen] == sorted(
            [await tasks.get(ADA, task) for task in made], key=lambda task: (task.updated_at, task.id), reverse=True
        )
        assert (await tasks.list(ADA, state="input-required")).total == 3
        assert (await tasks.list(ADA, count_to=2)).total == 2, "pages count only so far"
        assert (await tasks.list(ADA, context_id="c1", state="completed")).total == 3
        assert (await tasks.list(ADA, since=(await tasks.get(ADA, seen[0])).updated_at)).total == 0
        refused: list[dict[str, Any]] = [{"cursor": "x"}, {"page_size": 0}, {"page_size": 101}, {"state": "COMPLETED"}]
        for bad in refused:
            with pytest.raises(InvalidInput):
                await tasks.list(ADA, **bad)


async def test_limits_are_refused_by_name(stores: Stores) -> None:
    limits = TaskLimits(message_bytes=400, artifact_bytes=600, task_bytes=5_000, task_messages=8, open_tasks=3)
    from tests.rooms.agents.tasks.engines import puppet

    agents = {"puppet": hosted(puppet), "big": hosted(_big, "big"), "listener": hosted(_listener, "listener")}
    async with engine(stores, agents, limits=limits) as tasks:
        with pytest.raises(LimitExceeded) as refused:
            await send(tasks, "x" * 400)
        assert refused.value.details["reason"] == "message-limit"
        with pytest.raises(InvalidInput):
            await tasks.send(ADA, "puppet", Message(id="m", role="user", parts=()), dialect="1.0")
        at_once = await send(tasks, "at-once", agent="big")
        assert at_once.state == "failed"
        assert "600" in answer_of(at_once)
        slowly = await send(tasks, "slowly", agent="big")
        assert slowly.state == "failed"
        assert "5000" in answer_of(slowly)
        # An agent that answers would compete for the last message, and fail the task before the caller is refused.
        listening = await send(tasks, "listen", agent="listener", wait=False)
        with pytest.raises(LimitExceeded) as refused:
            await _often(9, lambda: send(tasks, "a", agent="listener", task_id=listening.id, wait=False))
        assert refused.value.details["reason"] == "history-limit"
        await send(tasks, "ask")
        await send(tasks, "ask")
        with pytest.raises(LimitExceeded) as refused:
            await _often(3, lambda: send(tasks, "talk", wait=False))
        assert refused.value.details["reason"] == "too-many-tasks"


async def _often(times: int, ask: Callable[[], Awaitable[Task]]) -> None:
    for _ in range(times):
        await ask()


async def _listener(turn: Turn) -> list[str]:
    return [message.text async for message in turn.incoming()]


async def _big(turn: Turn) -> None:
    if turn.text == "at-once":
        await turn.artifact("a", text="x" * 1000)
    while True:
        await turn.artifact("a", text="x" * 400)
        await asyncio.sleep(0)


async def test_an_agent_that_says_what_is_not_json_fails_and_says_so(stores: Stores) -> None:
    async def odd(turn: Turn) -> object:
        return {"of": object()}

    async with engine(stores, {"odd": hosted(odd)}) as tasks:
        task = await send(tasks, "go", agent="odd")
        assert task.state == "failed"
        assert "JSON" in answer_of(task)
        with pytest.raises(NotFound) as refused:
            await send(tasks, "go", agent="even")
        assert refused.value.details["reason"] == "agent-not-found"


async def test_content_of_every_kind_comes_back_exactly(stores: Stores) -> None:
    async def mirror(turn: Turn) -> Message:
        return Message(id="back", role="agent", parts=turn.message.parts, metadata=turn.message.metadata)

    parts = (
        Part(data={"n": 2**53 + 1, "huge": 10**30, "f": 42.0, "i": 42}, metadata={"k": [None, True]}),
        Part(raw="AAEC", filename="a.bin", media_type="application/octet-stream"),
        Part(url="https://example.org/x"),
        Part(text="\0 and \U0001f600"),
    )
    message = Message(id="m", role="user", parts=parts, metadata={"mcp_context": {"items": {}}}, references=("t",))
    async with engine(stores, {"mirror": hosted(mirror)}) as tasks, engine(stores, {}) as elsewhere:
        task = await tasks.send(ADA, "mirror", message, dialect="0.3", metadata={"n": 10**20})
        found = await elsewhere.get(ADA, task.id)
        assert found == task
        assert repr(found.history[0].parts) == repr(parts)
        assert found.status_message is not None
        assert found.status_message.parts == parts
        assert found.metadata == {"n": 10**20}
        assert found.history[0].references == ("t",)


async def test_a_follower_who_falls_behind_the_ring_loses_nothing(stores: Stores) -> None:
    async def much(turn: Turn) -> None:
        for number in range(1500):
            await turn.artifact("a", text=str(number), append=number > 0, last=False)
            if number % 100 == 0:
                await asyncio.sleep(0)

    async with engine(stores, {"much": hosted(much)}) as tasks:
        begun = await tasks.send(ADA, "much", said("go"), dialect="1.0", wait=None)
        events = [event async for event in tasks.follow(ADA, begun.id, after=0) if isinstance(event, Event)]
        assert [event.seq for event in events] == list(range(1, 1504))
        texts = [one.body.artifact.parts[0].text for one in events if isinstance(one.body, ArtifactEvent)]
        assert texts == [str(number) for number in range(1500)]
        replayed = [event async for event in tasks.follow(ADA, begun.id, after=1400) if isinstance(event, Event)]
        assert replayed == events[1400:]
        with pytest.raises(InvalidInput):
            await anext(tasks.follow(ADA, begun.id, after=1504))


async def test_a_commit_that_was_in_doubt_is_neither_lost_nor_written_twice(stores: Stores) -> None:
    database = await stores.open(SETS)
    plain = database.write
    doubts = 0

    async def doubtful(work: Callable[[Transaction], T], *, brief: bool = False, locking: bool = False) -> T:
        """Every second write is lost before it is kept, every third after."""
        nonlocal doubts
        doubts += 1
        if doubts % 2 == 0:
            raise Unavailable("The store is away.")
        value = await plain(work)
        if doubts % 3 == 0:
            raise Unavailable("The store was lost during the commit.")
        return value

    async with engine(stores, database=database) as tasks:
        begun = await send(tasks, "talk", wait=False)
        database.write = doubtful
        run = tasks._log.runs[begun.id]
        for number in range(6):
            await run.turn.say(f"word {number}")
            await run._flushed()
        database.write = plain
        done = await send(tasks, "enough", task_id=begun.id)
        assert doubts > 6
        heard = [one.text for one in done.history if one.role == "agent"]
        assert heard == ["Listening.", *(f"word {number}" for number in range(6)), "bye"]
        events = await log_of(tasks, begun)
        assert [event.seq for event in events] == list(range(1, done.seq + 1))


async def test_a_send_that_is_given_up_stops_an_agent_that_no_task_was_stored_for(stores: Stores) -> None:
    ended = asyncio.Event()

    async def endless(turn: Turn) -> None:
        try:
            while True:
                await turn.say("more")
        finally:
            ended.set()

    async with engine(stores, {"endless": hosted(endless)}) as tasks:
        await tasks._submission._quotas.add(ADA.id)
        sending = asyncio.create_task(send(tasks, "go", agent="endless"))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(ended.wait(), 60)
        assert not tasks._log.runs


@pytest.mark.parametrize("wrong", [{}, {"text": "a", "data": 1}, {"raw": "AA==", "url": "https://a.example"}])
async def test_an_artifact_is_of_one_kind(stores: Stores, wrong: dict[str, Any]) -> None:
    async def maker(turn: Turn) -> None:
        await turn.artifact("a", **wrong)

    async with engine(stores, {"maker": hosted(maker)}) as tasks:
        task = await send(tasks, "go", agent="maker")
        assert task.state == "failed"
        assert "exactly one of" in answer_of(task)


async def test_nothing_an_agent_emits_goes_back_or_past_the_end(stores: Stores) -> None:
    refused: list[str] = []

    async def wayward(turn: Turn) -> Message:
        await turn.working()
        for state in ("submitted", "completed", "failed"):
            try:
                await turn.emit(StatusEvent(state))
            except Conflict as error:
                refused.append(error.message)
        return Message(id="late", role="user", parts=(Part(text="after the end"),))

    async def posing(turn: Turn) -> Message:
        return Message(id="mine", role="user", parts=(Part(text="I am the caller"),))

    async with engine(stores, {"wayward": hosted(wayward), "posing": hosted(posing)}) as tasks:
        task = await send(tasks, "go", agent="wayward")
        assert (task.state, task.status_message, len(task.history)) == ("completed", None, 1)
        assert len(refused) == 2
        posed = await send(tasks, "go", agent="posing")
        assert posed.status_message is not None
        assert (posed.status_message.role, posed.status_message.task_id) == ("agent", posed.id)
