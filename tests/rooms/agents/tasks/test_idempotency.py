"""A message that is sent again gets its first result, in every process on the store."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Event, Message, Task
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.idempotency import send_keys
from tests.rooms.agents.tasks.engines import ADA, ODA, TurnedClock, answer_of, engine, log_of, said
from tests.stores import Stores
from tests.waiting import until_true

pytestmark = pytest.mark.anyio


class Counting:
    """Counts its runs; `ask` asks two questions, `reply` answers without a task, anything else waits for `go`."""

    def __init__(self) -> None:
        self.runs = 0
        self.go = asyncio.Event()

    def agents(self) -> dict[str, HostedAgent]:
        async def counting(turn: Turn) -> Any:
            self.runs += 1
            if turn.text == "ask":
                first = await turn.ask("First?")
                second = await turn.ask("Second?")
                return f"{first.text}, {second.text}"
            if turn.text == "reply":
                return turn.reply(f"number {self.runs}")
            if turn.text == "wait":
                await self.go.wait()
            return f"number {self.runs}"

        return {"counting": hosted(counting), "other": hosted(counting, "other")}


@pytest.fixture
def counting() -> Counting:
    return Counting()


async def send(tasks: Tasks, message: Message, **more: Any) -> Any:
    given: dict[str, Any] = {"dialect": "1.0", "task_id": message.task_id, "keys": send_keys(message.id, None), **more}
    return await tasks.send(given.pop("caller", ADA), given.pop("agent", "counting"), message, **given)


@pytest.mark.requirement("agents:repeat:first-result")
@pytest.mark.parametrize("text", ["now", "reply"])
@pytest.mark.parametrize("wait", [True, False, None])
async def test_a_message_sent_again_gets_its_first_result(
    stores: Stores, counting: Counting, text: str, wait: bool | None
) -> None:
    async with engine(stores, counting.agents()) as one, engine(stores, counting.agents()) as other:
        first = await send(one, said(text), wait=wait)
        again = await send(other, said(text), wait=wait)
        if isinstance(first, Task):
            assert answer_of(await one.get(ADA, first.id)) == "number 1"

    assert counting.runs == 1
    assert again == first


@pytest.mark.requirement("agents:repeat:first-result")
async def test_a_repeat_waits_for_the_result_of_a_task_that_runs(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as one, engine(stores, counting.agents()) as other:
        waiting = [asyncio.create_task(send(one, said("wait")))]
        await until_true(lambda: any(run.stored for run in one._log.runs.values()))
        waiting += [asyncio.create_task(send(process, said("wait"))) for process in (one, other)]
        counting.go.set()
        done = await asyncio.wait_for(asyncio.gather(*waiting), 10)

    assert [(task.id, answer_of(task)) for task in done] == [(done[0].id, "number 1")] * 3
    assert counting.runs == 1


@pytest.mark.requirement("agents:repeat:first-result")
async def test_a_repeated_stream_begins_with_its_message(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        first = await send(tasks, said("wait"), wait=None)
        again = await send(tasks, said("wait"), wait=None)
        assert (again.id, again.seq) == (first.id, 1)
        follower = tasks.follow(ADA, again.id, after=again.seq)
        counting.go.set()
        seen = [event async for event in follower]
        assert [event.seq for event in seen if isinstance(event, Event)] == [*range(2, len(seen) + 2)]


@pytest.mark.requirement("agents:repeat:first-result")
async def test_messages_sent_at_the_same_time_make_one_task(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as one, engine(stores, counting.agents()) as other:
        sends = [send(process, said("now")) for process in (one, other) for _ in range(5)]
        found = await asyncio.gather(*sends)
        page = await one.list(ADA)

    assert {task.id for task in found} == {task.id for task in page.tasks}
    assert page.total == 1


@pytest.mark.requirement("agents:repeat:answers")
async def test_a_repeated_answer_does_not_answer_the_next_question(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        asking = await send(tasks, said("ask"))
        answer = replace(said("red", task_id=asking.id), id="answer")
        second = await send(tasks, answer)
        assert answer_of(second) == "Second?"
        again = await send(tasks, answer)
        assert (again.state, answer_of(again)) == ("input-required", "Second?")

        done = await send(tasks, replace(said("blue", task_id=asking.id), id="another"))
        assert answer_of(done) == "red, blue"
        assert answer_of(await send(tasks, answer)) == "red, blue"
        texts = [one.text for one in done.history if one.role == "user"]
        assert texts == ["ask", "red", "blue"]
        assert len(await log_of(tasks, done)) == done.seq


@pytest.mark.requirement("agents:repeat:other-content")
async def test_within_a_task_the_id_of_another_message_is_refused(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        asking = await send(tasks, said("ask"))
        answer = replace(said("red", task_id=asking.id), id="answer")
        await send(tasks, answer)
        for changed in (replace(answer, parts=said("blue").parts), replace(answer, metadata={"a": 1})):
            with pytest.raises(Conflict, match="The message id 'answer' was used for another message") as refused:
                await send(tasks, changed)
            assert refused.value.details["reason"] == "message-id-reused"
        task = await tasks.get(ADA, asking.id)
        assert [one.text for one in task.history if one.role == "user"] == ["ask", "red"]


@pytest.mark.requirement("agents:repeat:test-kit")
async def test_an_id_that_is_used_for_several_tasks_is_no_repetition(stores: Stores, counting: Counting) -> None:
    """As the test kit of A2A does it: one id for all tasks that it begins, another for all that it goes on with."""
    async with engine(stores, counting.agents()) as tasks:
        start = replace(said("ask"), id="start")
        begun = [await send(tasks, replace(said(text), id="start")) for text in ("now", "later")]
        begun.append(await send(tasks, replace(said("now"), id="start"), wait=False))
        begun.append(await send(tasks, start, keys=send_keys("start", None, "http")))
        begun.append(await send(tasks, start, keys=send_keys("start", None, "rpc")))
        for end in ("answer", "cancel", "answer"):
            fresh = await send(tasks, start)
            assert (fresh.state, answer_of(fresh)) == ("input-required", "First?")
            assert (await send(tasks, start)).id == fresh.id, "nothing happened yet"
            begun.append(fresh)
            if end == "cancel":
                await tasks.cancel(ADA, fresh.id)
            else:
                answered = await send(tasks, replace(said("red", task_id=fresh.id), id="go on"))
                assert answer_of(answered) == "Second?"

    assert len({task.id for task in begun}) == len(begun) == counting.runs


@pytest.mark.requirement("agents:repeat:owner")
async def test_a_message_id_belongs_to_its_owner_and_its_agent(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        mine = await send(tasks, said("now"))
        theirs = await send(tasks, said("now"), caller=ODA)
        others = await send(tasks, said("now"), agent="other")

    assert len({task.id for task in (mine, theirs, others)}) == counting.runs == 3


@pytest.mark.requirement("agents:repeat:owner")
async def test_nobody_gets_the_result_of_another_owner(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        asking = await send(tasks, said("ask"), keys=send_keys("m", "k"))
        mine = await send(tasks, said("ask"), caller=ODA, keys=send_keys("m", "k"))
        assert mine.id != asking.id
        answer = replace(said("red", task_id=asking.id), id="answer")
        await send(tasks, answer)
        with pytest.raises(NotFound):
            await send(tasks, answer, caller=ODA)


@pytest.mark.requirement("agents:repeat:window")
async def test_a_message_id_counts_for_a_window(stores: Stores, counting: Counting) -> None:
    clock = TurnedClock()
    limits = TaskLimits(repeat_seconds=3600.0)
    async with engine(stores, counting.agents(), clock=clock, limits=limits) as tasks:
        first = await send(tasks, said("now"))
        clock.ahead = 3000.0
        assert (await send(tasks, said("now"))).id == first.id
        clock.ahead = 4000.0
        second = await send(tasks, said("now"))
        assert second.id != first.id
        assert (await send(tasks, said("now"))).id == second.id
        clock.ahead = 9000.0
        await tasks.retention.sweep()
        rows = await tasks._log.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_sends"))

    assert rows == 0


@pytest.mark.requirement("agents:repeat:window")
async def test_a_key_lasts_no_longer_than_its_task() -> None:
    assert TaskLimits(keep_days=0.5).seconds_to_repeat == 43_200.0
    assert TaskLimits(repeat_seconds=60.0).seconds_to_repeat == 60.0


@pytest.mark.requirement("agents:repeat:key")
async def test_an_idempotency_key_works_like_a_message_id(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        first = await send(tasks, said("now"), keys=send_keys("m-1", "k"))
        by_key = await send(tasks, replace(said("now"), id="m-2"), keys=send_keys("m-2", "k"))
        by_id = await send(tasks, said("now"), keys=send_keys("m-1", None))
        assert {task.id for task in (first, by_key, by_id)} == {first.id}
        with pytest.raises(Conflict, match="The idempotency key 'k' was used for another message"):
            await send(tasks, said("later"), keys=send_keys("m-3", "k"))
        assert (await send(tasks, said("now"), keys=send_keys("k", None))).id != first.id
    for bad in ("", "x" * 256, "a\nb"):
        with pytest.raises(InvalidInput, match="printable"):
            send_keys(None, bad)


@pytest.mark.requirement("agents:repeat:failed")
async def test_a_send_that_failed_can_be_repeated(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents(), limits=TaskLimits(open_tasks=1)) as tasks:
        open_task = await send(tasks, said("ask"))
        with pytest.raises(Exception, match="unfinished"):
            await send(tasks, said("now"))
        await tasks.cancel(ADA, open_task.id)
        assert answer_of(await send(tasks, said("now"))) == "number 2"


@pytest.mark.requirement("agents:repeat:failed")
async def test_a_send_that_was_given_up_does_not_block_its_repeat(stores: Stores, counting: Counting) -> None:
    async with engine(stores, counting.agents()) as tasks:
        first = asyncio.create_task(send(tasks, said("wait")))
        while not tasks._log.runs or not all(run.stored for run in tasks._log.runs.values()):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        counting.go.set()
        done = await asyncio.wait_for(send(tasks, said("wait")), 10)

    assert done.state == "completed"
