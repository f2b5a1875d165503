"""Parents and children over both stores, and after the end of a process: made once, ended together, counted once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import pytest

from pentad.agentvault import StepInterrupted
from pentad.kernel.errors import Conflict, NotFound
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.content import Contents
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import LIMITS_KEY, RESTING, Message, Origin, Part, Task
from pentad.rooms.agents.tasks.child_tasks import current_call
from pentad.rooms.agents.tasks.engine import Tasks
from tests.rooms.agents.tasks.engines import ADA, ODA, SETS, StoppedClock, answer_of, crash, ended, engine, said, send
from tests.stores import Stores
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio

Run = Callable[[Turn], Awaitable[Any]]


class Neighbours:
    """The two tools that agents need of the house: one that counts its calls, one that sends tasks."""

    def __init__(self) -> None:
        self.tasks: Tasks
        self.calls: list[str] = []

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: Any = None
    ) -> Mapping[str, Any]:
        if name != "agents_send_task":
            self.calls.append(name)
            return {"structuredContent": {"name": name, "number": len(self.calls)}}
        call = current_call.get()
        assert call is not None
        message = Message(id="m", role="user", parts=(Part(text=arguments["text"]),))
        task = await self.tasks.send(principal, arguments["agent"], message, dialect="mcp", origin=call.origin())
        assert isinstance(task, Task)
        sent = task.id
        task = await until(lambda: self.tasks.get(principal, sent), lambda one: one.state in RESTING)
        text = "" if task.status_message is None else task.status_message.text
        return {"structuredContent": {"task_id": task.id, "agent": task.agent, "state": task.state, "text": text}}

    async def read(self, principal: Principal, uri: str) -> Sequence[Contents]:
        raise NotFound(uri)

    def only_reads(self, name: str) -> bool:
        return name == "look"


class Family:
    """Processes on one store whose agents are functions of the test. The first run of `boss` gets stuck."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self.neighbours = Neighbours()
        self.reached = asyncio.Event()
        self.runs = 0
        self.worked: list[str] = []

    async def hang_once(self) -> None:
        if self.runs == 1:
            self.reached.set()
            await asyncio.Event().wait()

    def process(self, run: Run, *, at_work: bool = True, also: Mapping[str, Run] | None = None, **more: Any) -> Any:
        async def boss(turn: Turn) -> Any:
            self.runs += 1
            return await run(turn)

        async def worker(turn: Turn) -> str:
            self.worked.append(turn.text)
            return f"did {turn.text}"

        async def hangs(turn: Turn) -> None:
            await turn.working()
            await asyncio.Event().wait()

        agents: dict[str, HostedAgent] = {one.__name__: hosted(one) for one in (boss, worker, hangs)}
        agents |= {name: hosted(one, name) for name, one in (also or {}).items()}
        return engine(self._stores, agents, at_work=at_work, neighbours=self.neighbours, **more)

    async def run_twice(self, run: Run, **more: Any) -> tuple[Task, Tasks]:
        """A task whose first process was killed when the agent had got stuck, once another process has ended it."""
        async with self.process(run, at_work=False) as lost:
            self.neighbours.tasks = lost
            task = await send(lost, "go", agent="boss", wait=False, **more)
            await asyncio.wait_for(self.reached.wait(), PATIENCE)
            await crash(lost)
        async with self.process(run) as heir:
            self.neighbours.tasks = heir
            (over,) = await ended(heir, ADA, task.id)
            return over, heir


@pytest.fixture
def family(stores: Stores) -> Family:
    return Family(stores)


@pytest.mark.requirement("agents:house:once")
async def test_a_parent_that_runs_again_finds_its_child_and_its_calls_are_not_made_again(family: Family) -> None:
    async def run(turn: Turn) -> str:
        first = await turn.call_tool("look")
        child = await turn.send("worker", f"job {first['number']}")
        await family.hang_once()
        return f"{child.text}, {(await turn.send('worker', 'more')).text}"

    over, _ = await family.run_twice(run)
    assert answer_of(over) == "did job 1, did more"
    assert (family.runs, family.worked, family.neighbours.calls) == (2, ["job 1", "more"], ["look"])


@pytest.mark.requirement("agents:conversation:order")
async def test_a_conversation_has_the_order_in_which_its_tasks_were_created(family: Family) -> None:
    async def run(turn: Turn) -> Any:
        first = await turn.conversation.tasks(limit=4)
        rest = await turn.conversation.tasks(limit=4, cursor=first.next)
        messages = [one.text for one in await turn.conversation.messages() if one.role == "user"]
        return {"tasks": [one.history[0].text for one in (*first.tasks, *rest.tasks)], "messages": messages}

    texts = [f"job {number}" for number in range(7)]
    async with family.process(run, at_work=False, clock=StoppedClock()) as tasks:
        for text in texts:
            await send(tasks, text, agent="worker", context_id="garden")
        asked = await send(tasks, "go", agent="boss", context_id="garden")
        await send(tasks, "later", agent="worker", context_id="garden")
        again = await send(tasks, "go", agent="boss", context_id="garden")
    assert asked.status_message is not None
    assert asked.status_message.parts[0].data == {"tasks": texts[::-1], "messages": texts}
    assert again.status_message is not None
    assert again.status_message.parts[0].data["messages"] == [*texts, "go", "later"]


@pytest.mark.requirement("agents:conversation:order")
async def test_conversations_of_older_stores_keep_the_order_of_their_tasks(stores: Stores) -> None:
    database = await stores.open(SETS)
    path = files("pentad.rooms.agents.schema") / f"0013_conversation_order.{database.dialect}.sql"
    (update,) = [one for one in path.read_text(encoding="utf-8").split(";") if one.strip().startswith("UPDATE")]

    def work(transaction: Transaction) -> None:
        for name, context, at in (("b", "x", 2), ("a", "x", 3), ("c", "x", 1), ("d", "y", 4)):
            transaction.run(
                "INSERT INTO agent_tasks (id, owner, agent, context, dialect, state, seq, turn, messages, bytes,"
                " pushes, created_at, updated_at) VALUES (?, 'o', 'a', ?, 'mcp', 'working', 1, 1, 1, 1, 0, ?, 1)",
                name, context, float(at),
            )  # fmt: skip
        transaction.run(update)

    await database.write(work)
    found = await database.read(lambda rows: rows.all("SELECT id, number FROM agent_tasks ORDER BY id"))
    assert [tuple(row) for row in found] == [("a", 3), ("b", 2), ("c", 1), ("d", 1)]


@pytest.mark.requirement("agents:house:once")
async def test_a_child_that_was_made_just_before_a_crash_is_found_again(family: Family) -> None:
    send_task = family.neighbours.call_tool

    async def send_and_die(*args: Any, **more: Any) -> Mapping[str, Any]:
        result = await send_task(*args, **more)
        await family.hang_once()  # the journal never hears of the result
        return result

    family.neighbours.call_tool = send_and_die

    async def run(turn: Turn) -> str:
        return (await turn.send("worker", "job")).text

    over, _ = await family.run_twice(run)
    assert (answer_of(over), family.worked, family.runs) == ("did job", ["job"], 2)


@pytest.mark.requirement("agents:house:once")
async def test_a_tool_that_was_cut_short_is_called_again_only_if_it_changes_nothing(family: Family) -> None:
    call_tool = family.neighbours.call_tool

    async def call_and_die(*args: Any, **more: Any) -> Mapping[str, Any]:
        result = await call_tool(*args, **more)
        if family.runs == 1:
            if len(family.neighbours.calls) == 2:
                family.reached.set()
            await asyncio.Event().wait()
        return result

    family.neighbours.call_tool = call_and_die

    async def run(turn: Turn) -> list[str]:
        calls = turn.call_tool("look"), turn.call_tool("pay")
        found = await turn.gather(*(_outcome(call) for call in calls))
        return [str(one) for one in found]

    over, _ = await family.run_twice(run)
    assert over.status_message is not None
    assert over.status_message.parts[0].data == ["look", "StepInterrupted"]
    assert sorted(family.neighbours.calls) == ["look", "look", "pay"]


async def _outcome(call: Awaitable[Any]) -> str:
    try:
        return (await call)["name"]
    except StepInterrupted as error:
        return type(error).__name__


@pytest.mark.requirement("agents:house:gather")
async def test_branches_of_a_gather_replay_whatever_order_they_ran_in(family: Family) -> None:
    gates = {name: asyncio.Event() for name in "abc"}
    gates["c"].set()
    following = {"c": "b", "b": "a"}

    async def branch(turn: Turn, name: str) -> str:
        await turn.call_tool(f"first {name}")
        if family.runs == 1:
            await gates[name].wait()  # c, b, a
        child = await turn.send("worker", name)
        if name in following:
            gates[following[name]].set()
        return child.text

    async def run(turn: Turn) -> list[str]:
        found = await turn.gather(*(branch(turn, name) for name in "abc"))
        nested = await turn.gather(turn.gather(branch(turn, "c"), branch(turn, "b")), turn.call_tool("last"))
        await family.hang_once()
        return [*found, *nested[0]]

    over, _ = await family.run_twice(run)
    assert over.status_message is not None
    assert over.status_message.parts[0].data == ["did a", "did b", "did c", "did c", "did b"]
    assert sorted(family.worked) == ["a", "b", "b", "c", "c"]
    assert family.runs == 2


@pytest.mark.requirement("agents:house:gather", "agents:house:once")
async def test_a_child_that_a_branch_sent_finds_its_own_steps_again(family: Family) -> None:
    lines, reached, crashed = list[str](), asyncio.Event(), asyncio.Event()

    async def stepper(turn: Turn) -> str:
        await turn.step("work", lines.append, turn.text)
        await turn.say("Worked.")
        if not crashed.is_set():
            reached.set()
            await asyncio.Event().wait()
        return "done"

    async def run(turn: Turn) -> str:
        (child,) = await turn.gather(turn.send("stepper", "once"))
        return child.text

    async with family.process(run, at_work=False, also={"stepper": stepper}) as lost:
        family.neighbours.tasks = lost
        task = await send(lost, "go", agent="boss", wait=False)
        await asyncio.wait_for(reached.wait(), PATIENCE)
        child = await until(lambda: _child_of(lost, task))
        await until(
            lambda: lost.trace(ADA, child or ""), lambda trace: trace.task.calls and trace.task.calls[0].ended_at
        )
        await crash(lost)
        crashed.set()
    async with family.process(run, also={"stepper": stepper}) as heir:
        family.neighbours.tasks = heir
        over, worked = await ended(heir, ADA, task.id, child or "")
    assert (answer_of(over), worked.state, lines) == ("done", "completed", ["once"])


@pytest.mark.requirement("agents:budget:task")
async def test_a_replay_counts_nothing_twice(family: Family) -> None:
    async def run(turn: Turn) -> str:
        await turn.call_tool("look")
        turn.used_tokens(40)
        await turn.send("worker", "job")
        await family.hang_once()
        turn.used_tokens(2)
        return "done"

    over, _ = await family.run_twice(run, metadata={LIMITS_KEY: {"calls": 2, "tokens": 42}})
    assert (over.state, over.metadata is not None) == ("completed", True)
    budget = (over.metadata or {})["budget"]
    assert (budget["used"]["calls"], budget["used"]["tokens"]) == (2, 42)
    assert budget["limits"] == {"calls": 2, "tokens": 42}


@pytest.mark.requirement("agents:house:cascade")
async def test_children_end_with_their_parent_even_if_its_process_is_gone(family: Family) -> None:
    async def run(turn: Turn) -> str:
        return (await turn.send("hangs", "on")).text

    async with family.process(run, at_work=False) as tasks:
        family.neighbours.tasks = tasks
        task = await send(tasks, "go", agent="boss", wait=False)
        child = await until(lambda: _child_of(tasks, task))
        await crash(tasks)
        async with family.process(run) as heir:
            family.neighbours.tasks = heir
            await heir.cancel(ADA, task.id)
            (over,) = await ended(heir, ADA, child or "")
    assert over.state in ("canceled", "failed")


@pytest.mark.requirement("agents:house:cascade")
async def test_no_child_is_made_for_a_task_that_has_ended_or_belongs_to_someone_else(family: Family) -> None:
    async def run(turn: Turn) -> str:
        return "done"

    async with family.process(run) as tasks:
        over = await send(tasks, "go", agent="boss")
        running = await send(tasks, "go", agent="hangs", wait=False)
        for parent, caller in ((over, ADA), (running, ODA)):
            origin = Origin(parent.id, "1.1")
            with pytest.raises(Conflict) as refused:
                await tasks.send(caller, "worker", said("job"), dialect="mcp", origin=origin)
            assert refused.value.details["reason"] == "parent-ended"


async def test_a_run_that_is_stopped_keeps_its_turn_for_the_next_one(family: Family) -> None:
    async def run(turn: Turn) -> None:
        await turn.call_tool("look")
        await turn.call_tool("look")
        family.reached.set()
        await asyncio.Event().wait()

    async with family.process(run, at_work=False) as tasks:
        family.neighbours.tasks = tasks
        append, gate, began = tasks._log.append_batch, asyncio.Event(), asyncio.Event()

        async def slowly(*args: Any, **more: Any) -> Any:
            began.set()
            await gate.wait()
            return await append(*args, **more)

        tasks._log.append_batch = slowly
        task = await send(tasks, "go", agent="boss", wait=False)
        await asyncio.wait_for(family.reached.wait(), PATIENCE)
        await asyncio.wait_for(began.wait(), PATIENCE)
        stopped = tasks._log.runs[task.id]
        stopped.stop()
        assert stopped.handle is not None
        await asyncio.wait([stopped.handle])
        gate.set()
        await until(lambda: _is_written(stopped))
        row = await tasks._log.database.lookup("SELECT holder, state FROM agent_tasks WHERE id = ?", task.id)
        assert row == (tasks._log.origin, "working")


async def _is_written(run: Any) -> bool:
    return run._flushing is None


@pytest.mark.requirement("agents:house:trace")
async def test_the_trace_shows_calls_and_children_where_they_were_made(family: Family) -> None:
    async def run(turn: Turn) -> str:
        await turn.call_tool("look")
        await turn.gather(turn.send("worker", "a"), turn.send("worker", "b"))
        return "done"

    async with family.process(run) as tasks:
        family.neighbours.tasks = tasks
        task = await send(tasks, "go", agent="boss")
        trace = await tasks.trace(ADA, task.id)
        calls = trace.task.calls
        assert [(call.kind, call.name) for call in calls] == [("tool", "look"), ("send", "worker"), ("send", "worker")]
        children = [call.task for call in calls if call.task is not None]
        assert [child.parent_span_id for child in children] == [call.span_id for call in calls[1:]]
        assert not trace.task.tasks
        ids = {trace.task.span_id, *(call.span_id for call in calls), *(child.span_id for child in children)}
        assert len(ids) == 6
        with pytest.raises(NotFound):
            await tasks.trace(ODA, task.id)


@pytest.mark.requirement("agents:conversation")
async def test_a_conversation_is_paged_and_ends_before_the_task_itself(family: Family) -> None:
    seen: list[str] = []

    async def run(turn: Turn) -> int:
        cursor: str | None = None
        while True:
            page = await turn.conversation.tasks(limit=2, cursor=cursor)
            seen.extend(task.history[0].text for task in page.tasks)
            if (cursor := page.next) is None:
                return len(seen)

    async with family.process(run) as tasks:
        for number in range(5):
            await send(tasks, f"number {number}", agent="worker", context_id="garden")
        await send(tasks, "strange", agent="worker", context_id="garden", caller=ODA)
        await send(tasks, "go", agent="boss", context_id="garden")
    assert seen == [f"number {number}" for number in (4, 3, 2, 1, 0)]


async def _child_of(tasks: Tasks, task: Task) -> str | None:
    row = await tasks._log.database.lookup("SELECT id FROM agent_tasks WHERE parent = ?", task.id)
    return None if row is None else str(row[0])
