"""What goes when it is old enough, and what stays."""

import asyncio

import pytest

from pentad.kernel.errors import Misconfigured, NotFound
from pentad.kernel.ports import Database
from pentad.rooms.agents.context.context_store import ContentStore, StoredContent, address
from pentad.rooms.agents.context.integrity import bytes_hash
from pentad.rooms.agents.context.temporary_links import TemporaryLinks
from pentad.rooms.agents.context.versions import ContextVersions
from pentad.rooms.agents.models import PushConfig, Task
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.remote_tasks import RemoteTasks
from pentad.rooms.agents.tasks.retention import DAY
from tests.room_settings import room_settings
from tests.rooms.agents.tasks.engines import ADA, ODA, SETS, TurnedClock, engine, said
from tests.stores import Stores

pytestmark = pytest.mark.anyio

PUSH = PushConfig(url="https://example.org/hook", dialect="1.0")


async def sent(tasks: Tasks, text: str) -> Task:
    task = await tasks.send(ADA, "puppet", said(text), dialect="1.0", push=PUSH)
    assert isinstance(task, Task)
    return task


async def rows(database: Database, table: str) -> int:
    return await database.read(lambda rows: rows.value(f"SELECT count(*) FROM {table}"))


@pytest.mark.requirement("agents:tasks:retention")
async def test_what_has_been_over_for_long_goes_and_what_is_open_stays(stores: Stores) -> None:
    clock, database = TurnedClock(), await stores.open(SETS)
    async with engine(stores, clock=clock, limits=TaskLimits(keep_days=30), database=database) as tasks:
        over, waiting = await sent(tasks, "hello"), await sent(tasks, "ask")
        clock.ahead = 29 * DAY
        late = await sent(tasks, "later")
        assert await tasks.retention.sweep() == 0

        clock.ahead = 31 * DAY
        assert await tasks.retention.sweep() == 1
        with pytest.raises(NotFound):
            await tasks.get(ADA, over.id)
        assert {one.id for one in (await tasks.list(ADA)).tasks} == {waiting.id, late.id}
        assert (await tasks.get(ADA, waiting.id)).history == waiting.history
        assert await rows(database, "agent_events") == late.seq + waiting.seq
        assert await rows(database, "agent_pushes") == 2


async def test_more_than_one_handful_goes_in_one_sweep(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, clock=clock, limits=TaskLimits(keep_days=1)) as tasks:
        await asyncio.gather(*(tasks.send(ADA, "puppet", said("hello"), dialect="1.0") for _ in range(205)))
        clock.ahead = 2 * DAY
        assert await tasks.retention.sweep() == 205
        assert (await tasks.list(ADA)).total == 0


async def test_a_content_goes_when_nobody_has_brought_it_for_long(stores: Stores) -> None:
    clock, database = TurnedClock(), await stores.open(SETS)
    contents = ContentStore(database, clock)
    once, again = b"once", b"again"
    async with engine(stores, clock=clock, limits=TaskLimits(keep_days=30), database=database) as tasks:
        for body in (once, again):
            await contents.keep(ADA, {bytes_hash(body): (body, None)})
        clock.ahead = 20 * DAY
        await contents.keep(ADA, {bytes_hash(again): (again, None)})

        clock.ahead = 31 * DAY
        await tasks.retention.sweep()
        with pytest.raises(NotFound):
            await contents.read(ADA, address(bytes_hash(once)))
        assert (await contents.read(ADA, address(bytes_hash(again)))).body == again
        assert await rows(database, "agent_contents") == 1


@pytest.mark.requirement("agents:context:retention")
async def test_the_context_of_a_conversation_goes_with_the_last_of_its_tasks(stores: Stores) -> None:
    clock, database = TurnedClock(), await stores.open(SETS)
    contexts = ContextVersions(database, clock)
    async with engine(stores, clock=clock, limits=TaskLimits(keep_days=30), database=database) as tasks:
        over, waiting, begun = await sent(tasks, "hello"), await sent(tasks, "ask"), "not yet a task"
        for number in range(3):
            for context in (over.context_id, waiting.context_id):
                await contexts.add_turn(ADA.id, context, {"a": {"content": f"{context} {number}"}})
        await contexts.add_turn(ODA.id, waiting.context_id, {"a": {"content": "of somebody else with the same name"}})
        clock.ahead = 29 * DAY
        await tasks.retention.sweep()
        assert await rows(database, "agent_contexts") == 7

        clock.ahead = 31 * DAY
        await contexts.add_turn(ADA.id, begun, {"a": {"content": "new"}})
        await tasks.retention.sweep()
        with pytest.raises(NotFound):
            await contexts.read(ADA.id, over.context_id)
        with pytest.raises(NotFound):
            await contexts.read(ODA.id, waiting.context_id)
        assert (await contexts.read(ADA.id, waiting.context_id)).number == 3
        assert (await contexts.read(ADA.id, begun)).number == 1
        assert await rows(database, "agent_contents") == 4


async def test_a_content_stays_for_as_long_as_a_task_that_is_not_over_may_need_it(stores: Stores) -> None:
    clock, database = TurnedClock(), await stores.open(SETS)
    contents = ContentStore(database, clock)
    needed, before = b"needed", b"long before"
    async with engine(stores, clock=clock, limits=TaskLimits(keep_days=30), database=database) as tasks:
        await contents.keep(ADA, {bytes_hash(before): (before, None)})
        clock.ahead = 5 * DAY
        await contents.keep(ADA, {bytes_hash(needed): (needed, None)})
        waiting = await sent(tasks, "ask")
        clock.ahead = 100 * DAY
        await tasks.retention.sweep()
        assert (await contents.read(ADA, address(bytes_hash(needed)))).body == needed
        with pytest.raises(NotFound):
            await contents.read(ADA, address(bytes_hash(before)))

        await tasks.cancel(ADA, waiting.id)
        await tasks.retention.sweep()
        with pytest.raises(NotFound):
            await contents.read(ADA, address(bytes_hash(needed)))


async def test_a_content_the_conversation_goes_on_with_is_as_good_as_brought_again(stores: Stores) -> None:
    clock, database = TurnedClock(), await stores.open(SETS)
    contents, contexts = ContentStore(database, clock), ContextVersions(database, clock)
    body = b"of the first turn"
    async with engine(stores, clock=clock, limits=TaskLimits(keep_days=30), database=database) as tasks:
        await contents.keep(ADA, {bytes_hash(body): (body, None)})
        await contexts.add_turn(ADA.id, "talk", {"doc": {"ref": address(bytes_hash(body))}})
        clock.ahead = 20 * DAY
        await contexts.add_turn(ADA.id, "talk", {"note": {"content": "of the second"}})
        clock.ahead = 40 * DAY
        await tasks.retention.sweep()
        assert (await contents.read(ADA, address(bytes_hash(body)))).body == body


async def test_what_is_kept_for_a_time_goes_when_that_is_up_whatever_the_operator_says(stores: Stores) -> None:
    clock, database = TurnedClock(), await stores.open(SETS)
    lending, away = TemporaryLinks(database, clock, "https://pentad.example.org"), RemoteTasks(database, clock)
    loan = lending.for_message(ADA)
    loan.address(StoredContent(bytes_hash(b"lent"), b"lent", None))
    await loan.keep()
    kept = await away.keep(ADA, "far/agent", "t1", 500)
    async with engine(stores, clock=clock, database=database) as tasks:
        await tasks.retention.sweep()
        assert (await rows(database, "agent_lent_contents"), await rows(database, "agent_contents")) == (1, 1)
        assert await away.get(ADA, kept.id) == kept

        clock.ahead = 8 * DAY
        with pytest.raises(NotFound):
            await away.get(ADA, kept.id)
        await tasks.retention.sweep()
        for table in ("agent_lent_contents", "agent_contents", "agent_tasks_elsewhere"):
            assert await rows(database, table) == 0


async def test_everything_stays_unless_a_number_of_days_is_set(stores: Stores) -> None:
    clock = TurnedClock()
    async with engine(stores, clock=clock) as tasks:
        task = await sent(tasks, "hello")
        clock.ahead = 10_000 * DAY
        assert await tasks.retention.sweep() == 0
        assert await tasks.get(ADA, task.id)


def test_the_days_are_a_number_above_zero() -> None:
    assert room_settings("agents", keep_days="0.5").keep_days == 0.5
    for wrong in ("soon", 0, -1):
        with pytest.raises(Misconfigured):
            room_settings("agents", keep_days=wrong)
