"""Durable calls: a step runs once, sleeps, events and questions survive restarts, and a replay does what was done."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.agentvault import BaseA2AAgent, StepFailed, StepInterrupted
from pentad.kernel.errors import Conflict, Forbidden, NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import EVENT, Event, Message, Part, StatusEvent, Task
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.engine import Tasks
from pentad.rooms.agents.tasks.journal import code_of, is_same_code
from pentad.rooms.agents.tasks.retention import DAY
from tests.rooms.agents.tasks.engines import ADA, ODA, TurnedClock, answer_of, crash, ended, engine, log_of, send
from tests.stores import Stores
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio

Agents = dict[str, HostedAgent]
ROOT = Principal("user:root", "root", role_scopes("admin"))


class Diary:
    """What agents did in the world, over all their runs, and a place where the first run can be stopped."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.reached = asyncio.Event()
        self.runs = 0

    def do(self, what: str) -> str:
        self.lines.append(what)
        return f"did {what}"

    async def hang_once(self) -> None:
        """Get stuck in the first run."""
        if self.runs == 1:
            self.reached.set()
            await asyncio.Event().wait()

    def agents(self, run: Callable[[Turn], Awaitable[Any]], *, version: str | None = None) -> Agents:
        async def durable(turn: Turn) -> Any:
            self.runs += 1
            return await run(turn)

        if version is not None:
            vars(durable)["version"] = version
        return {"durable": hosted(durable)}


@pytest.fixture
def diary() -> Diary:
    return Diary()


async def begin(tasks: Tasks, text: str = "go", **more: Any) -> Task:
    return await send(tasks, text, agent="durable", wait=False, **more)


async def signal(tasks: Tasks, task: Task, event: str, text: str = "now", **more: Any) -> Task:
    message = Message(id=f"m-{event}", role="user", parts=(Part(text=text),), metadata={EVENT: event})
    caller = more.pop("caller", ADA)
    found = await tasks.send(caller, "durable", message, dialect="1.0", task_id=task.id, wait=False)
    assert isinstance(found, Task)
    return found


async def lost_and_found(
    stores: Stores, diary: Diary, agents: Agents, *, killed: bool = False
) -> tuple[Task, list[Event]]:
    """A task whose first process ended when the agent had got stuck, and its log, once another process has ended it."""
    async with engine(stores, agents, at_work=False) as lost:
        task = await begin(lost)
        await asyncio.wait_for(diary.reached.wait(), PATIENCE)
        await settled(lost, task)
        if killed:
            await crash(lost)
    async with engine(stores, agents) as heir:
        (over,) = await ended(heir, ADA, task.id)
        return over, await log_of(heir, over)


async def settled(tasks: Tasks, task: Task) -> None:
    """Everything the run has said and done so far is stored."""
    run = tasks._log.runs[task.id]
    await until(lambda: _is_settled(run))


async def _is_settled(run: Any) -> bool:
    return run.stored and run._flushing is None and not run._has_unwritten


async def suspended(tasks: Tasks, task: Task) -> None:
    """The turn is not over, and no process runs it."""

    async def look() -> Any:
        return await tasks._log.database.lookup("SELECT suspended, holder FROM agent_tasks WHERE id = ?", task.id)

    assert await until(look, lambda row: row[0] == 1) == (1, None)


def states(events: list[Event]) -> list[str]:
    return [event.body.state for event in events if isinstance(event.body, StatusEvent)]


@pytest.mark.requirement("agents:durable:steps")
async def test_a_step_runs_once_however_often_its_turn_runs(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        first = await turn.step("charge", diary.do, "charge")
        await turn.artifact("receipt", text=first)
        second = await turn.step("ship", diary.do, "ship")
        await diary.hang_once()
        return f"{first}, {second}"

    over, events = await lost_and_found(stores, diary, diary.agents(run), killed=True)
    assert answer_of(over) == "did charge, did ship"
    assert diary.lines == ["charge", "ship"]
    assert diary.runs == 2
    assert len(over.artifacts) == 1
    assert len(over.artifacts[0].parts) == 1
    assert states(events) == ["working", "completed"]


@pytest.mark.requirement("agents:durable:steps")
async def test_a_step_begins_when_the_store_knows_that_it_does(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        first = await turn.step("first", look, turn)
        second = await turn.step("second", look, turn)
        return f"{first} {second}"

    async def look(turn: Turn) -> list[int]:
        return [number for number, _, _, ended_at in await _rows(tasks, turn.task) if ended_at is None]

    async with engine(stores, diary.agents(run)) as tasks:
        assert answer_of(await send(tasks, "go", agent="durable")) == "[1] [2]"


@pytest.mark.requirement("agents:durable:steps")
async def test_a_step_that_was_cut_short_says_so_and_is_not_repeated(stores: Stores, diary: Diary) -> None:
    async def charge() -> None:
        diary.do("charge")
        await diary.hang_once()

    async def run(turn: Turn) -> str:
        try:
            await turn.step("charge", charge)
        except StepInterrupted as error:
            return f"look: {error.step}"
        return "charged"

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert answer_of(over) == "look: charge"
    assert diary.lines == ["charge"]


@pytest.mark.requirement("agents:durable:steps")
async def test_a_step_that_was_cut_short_fails_a_task_that_does_not_look(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> None:
        await turn.step("charge", diary.hang_once)

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert over.state == "failed"
    assert "'charge'" in answer_of(over)
    assert "not known" in answer_of(over)


async def test_a_repeatable_step_runs_again_if_it_was_cut_short(stores: Stores, diary: Diary) -> None:
    async def read() -> str:
        diary.do("read")
        await diary.hang_once()
        return "read"

    async def run(turn: Turn) -> str:
        return await turn.step("read", read, repeatable=True)

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert answer_of(over) == "read"
    assert diary.lines == ["read", "read"]


@pytest.mark.requirement("agents:durable:steps")
async def test_failures_are_remembered_and_raised_alike(stores: Stores, diary: Diary) -> None:
    def refuse() -> None:
        diary.do("refuse")
        raise Forbidden("Not for you.", hint="Ask.", details={"reason": "x"})

    def crash_it() -> None:
        diary.do("crash")
        raise ValueError("odd")

    async def run(turn: Turn) -> list[Any]:
        seen: list[Any] = []
        for name, work in (("refuse", refuse), ("crash", crash_it)):
            try:
                await turn.step(name, work)
            except Forbidden as error:
                seen.append([error.message, error.hint, error.details["reason"]])
            except StepFailed as error:
                seen.append([error.kind, error.text, error.step])
        await diary.hang_once()
        return seen

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert over.status_message is not None
    assert over.status_message.parts[0].data == [["Not for you.", "Ask.", "x"], ["ValueError", "odd", "crash"]]
    assert diary.lines == ["refuse", "crash"]


async def test_a_step_is_tried_as_often_as_it_asks(
    stores: Stores, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.rooms.agents.hosting.turn._LONGEST_PAUSE", 0.0)

    def flaky() -> int:
        diary.do("try")
        if len(diary.lines) < 3:
            raise OSError("not yet")
        return len(diary.lines)

    async def run(turn: Turn) -> str:
        return str(await turn.step("flaky", flaky, attempts=3))

    async with engine(stores, diary.agents(run)) as tasks:
        assert answer_of(await send(tasks, "go", agent="durable")) == "3"


async def test_a_result_is_json_in_the_first_run_too(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        found = await turn.step("pair", lambda: (1, {"a": 2**60}))
        try:
            await turn.step("odd", object)
        except Exception as error:  # noqa: BLE001  whatever it is
            return f"{found} {type(error).__name__}"
        return ""

    async with engine(stores, diary.agents(run)) as tasks:
        assert answer_of(await send(tasks, "go", agent="durable")) == f"[1, {{'a': {2**60}}}] InvalidInput"


@pytest.mark.parametrize("name", ["x" * 201, "two\nlines", "nul\0", "\ud800"])
async def test_a_name_that_could_not_be_stored_is_refused(stores: Stores, diary: Diary, name: str) -> None:
    async def run(turn: Turn) -> None:
        await turn.step(name, diary.do, "x")

    async with engine(stores, diary.agents(run)) as tasks:
        failed = await send(tasks, "go", agent="durable")
        assert failed.state == "failed"
        assert "printable" in answer_of(failed)
        assert diary.lines == []


async def test_an_agent_that_never_stops_stepping_is_stopped_by_the_limit_of_its_task(
    stores: Stores, diary: Diary
) -> None:
    async def run(turn: Turn) -> None:
        while True:
            await turn.step("more", str, "x" * 100)

    async with engine(stores, diary.agents(run), limits=TaskLimits(task_bytes=5_000)) as tasks:
        failed = await send(tasks, "go", agent="durable")
        assert failed.state == "failed"
        assert "5000 bytes" in answer_of(failed)


async def test_a_failed_step_tells_the_caller_no_more_than_an_incident(
    stores: Stores, diary: Diary, caplog: pytest.LogCaptureFixture
) -> None:
    def leak() -> None:
        raise RuntimeError("the password is swordfish")

    async def run(turn: Turn) -> None:
        await turn.step("leak", leak)

    async with engine(stores, diary.agents(run)) as tasks:
        failed = await send(tasks, "go", agent="durable")
        assert failed.state == "failed"
        assert "'leak'" in answer_of(failed)
        assert "swordfish" not in answer_of(failed)
    caplog.clear()


@pytest.mark.requirement("agents:durable:steps")
async def test_concurrent_steps_are_replayed_by_the_order_they_began_in(stores: Stores, diary: Diary) -> None:
    async def part(turn: Turn, name: str) -> str:
        done = await turn.step(name, diary.do, name)
        await turn.artifact(name, text=done)
        return done

    async def run(turn: Turn) -> str:
        done = await asyncio.gather(*(part(turn, name) for name in "abc"))
        await diary.hang_once()
        return " ".join(done)

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert answer_of(over) == "did a did b did c"
    assert sorted(diary.lines) == ["a", "b", "c"]
    assert len(over.artifacts) == 3


@pytest.mark.requirement("agents:durable:replay")
async def test_a_call_that_the_agent_gave_up_is_given_up_again(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        given_up: list[str] = []
        for name, call in (("event", turn.wait_for("never")), ("step", turn.step("hang", asyncio.Event().wait))):
            try:
                async with asyncio.timeout(0.01):
                    await call
            except TimeoutError:
                given_up.append(name)
        other = asyncio.create_task(turn.step("other", asyncio.Event().wait))
        await turn.step("first", diary.do, "first")
        other.cancel()
        await asyncio.wait([other])
        await turn.step("charge", diary.do, "charge")
        await diary.hang_once()
        return f"{' '.join(given_up)} {other.cancelled()}"

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert answer_of(over) == "event step True"
    assert diary.lines == ["first", "charge"]


@pytest.mark.requirement("agents:durable:questions")
async def test_a_question_of_any_agent_survives_and_its_answer_starts_a_replay(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        await turn.say("Hello.")
        colour = await turn.ask("Which colour?")
        size = await turn.ask("Which size?")
        return f"{colour.text} {size.text}"

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as lost:
        asked = await send(lost, "go", agent="durable")
        assert asked.state == "input-required"
        await crash(lost)
    async with engine(stores, agents) as heir:
        await suspended(heir, asked)
        assert diary.runs == 1
        again = await send(heir, "red", agent="durable", task_id=asked.id)
        assert (again.state, answer_of(again)) == ("input-required", "Which size?")
    async with engine(stores, agents) as third:  # an orderly end hands it over
        await suspended(third, asked)
        done = await send(third, "large", agent="durable", task_id=asked.id)
        assert (done.state, answer_of(done)) == ("completed", "red large")
        said = [one.text for one in done.history]
        assert said == ["go", "Hello.", "Which colour?", "red", "Which size?", "large", "red large"]
        working, waits = "working", "input-required"
        assert states(await log_of(third, done)) == [working, waits, working, waits, working, "completed"]


@pytest.mark.requirement("jobs:needs")
async def test_a_turn_is_left_to_a_process_with_the_rooms_of_the_one_that_began_it(stores: Stores) -> None:
    ran: list[str] = []

    def agents(process: str) -> dict[str, HostedAgent]:
        async def run(turn: Turn) -> str:
            ran.append(process)
            return " ".join([(await turn.ask("Which colour?")).text, (await turn.ask("Which size?")).text])

        return {"durable": hosted(run, "durable")}

    async with engine(stores, agents("lost"), at_work=False, rooms=("agents", "registers")) as lost:
        asked = await send(lost, "go", agent="durable")
        await crash(lost)
    async with engine(stores, agents("command"), rooms=("agents",)) as command:
        async with engine(stores, agents("server"), rooms=("agents", "directory", "registers")) as server:
            await suspended(server, asked)
            again = await send(command, "red", agent="durable", task_id=asked.id)
            assert answer_of(again) == "Which size?"
        await send(command, "large", agent="durable", task_id=asked.id, wait=False)
        async with engine(stores, agents("next"), rooms=("registers", "agents")) as following:
            (done,) = await ended(following, ADA, asked.id)
    assert (answer_of(done), ran) == ("red large", ["lost", "server", "next"])


@pytest.mark.requirement("agents:durable:questions")
async def test_an_answer_that_came_while_no_process_ran_is_heard(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        return (await turn.ask("Which one?")).text

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as lost, engine(stores, agents, at_work=False) as other:
        asked = await send(lost, "go", agent="durable")
        await crash(lost)
        await begin(other, "blue", task_id=asked.id)
    async with engine(stores, agents) as heir:
        (done,) = await ended(heir, ADA, asked.id)
        assert answer_of(done) == "blue"


@pytest.mark.requirement("agents:durable:questions")
async def test_work_after_an_answer_is_not_repeated_for_an_agent_that_never_said_it_may_be(
    stores: Stores, diary: Diary
) -> None:
    async def run(turn: Turn) -> str:
        await turn.ask("Really?")
        diary.do("charge")
        await diary.hang_once()
        return "charged"

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as lost, engine(stores, agents) as heir:
        asked = await send(lost, "go", agent="durable")
        await begin(lost, "yes", task_id=asked.id)
        await asyncio.wait_for(diary.reached.wait(), PATIENCE)
        await settled(lost, asked)
        await crash(lost)
        (over,) = await ended(heir, ADA, asked.id)
        assert over.state == "failed"
        assert "cannot be run again" in answer_of(over)
        assert diary.lines == ["charge"]


@pytest.mark.requirement("agents:durable:sleeps")
async def test_a_sleep_survives_and_ends_at_its_time(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        await turn.step("before", diary.do, "before")
        await turn.sleep(3_600)
        return str(await turn.step("after", diary.do, "after"))

    agents, clock = diary.agents(run), TurnedClock()
    async with engine(stores, agents, at_work=False) as lost:
        task = await begin(lost)
        await until(lambda: _rows(lost, task), lambda rows: len(rows) == 2)
    async with engine(stores, agents, clock=clock) as heir:
        await suspended(heir, task)

        async def due() -> float:
            sql = "SELECT run_at FROM jobs WHERE name = 'agents.turn' AND state = 'queued'"
            return (await heir._log.database.lookup(sql) or (0.0,))[0]

        await until(due, lambda at: at > clock.now() + 3_000)
        clock.ahead = 3_601.0
        (done,) = await ended(heir, ADA, task.id)
        assert answer_of(done) == "did after"
        assert diary.lines == ["before", "after"]


async def test_a_short_sleep_is_just_slept(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        await turn.sleep(0.001)
        await turn.sleep(until=0.0)
        return "awake"

    async with engine(stores, diary.agents(run)) as tasks:
        assert answer_of(await send(tasks, "go", agent="durable")) == "awake"


async def _rows(tasks: Tasks, task: Task) -> list[Any]:
    sql = "SELECT number, kind, name, ended_at FROM agent_steps WHERE task_id = ? ORDER BY number"
    return await tasks._log.database.read(lambda rows: rows.all(sql, task.id))


@pytest.mark.requirement("agents:durable:events")
async def test_an_event_reaches_the_agent_before_and_after_a_restart(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        paid = await turn.wait_for("paid")
        shipped = await turn.wait_for("shipped")
        return f"{paid.text} {shipped.text}"

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as lost:
        task = await begin(lost)
        await signal(lost, task, "paid", "10 EUR")
        await until(lambda: _rows(lost, task), lambda rows: len(rows) == 2)
    async with engine(stores, agents) as heir:
        await suspended(heir, task)
        await signal(heir, task, "weather", "rain")
        assert (await heir.get(ADA, task.id)).state == "working"
        await signal(heir, task, "shipped", "today")
        (done,) = await ended(heir, ADA, task.id)
        assert answer_of(done) == "10 EUR today"


@pytest.mark.requirement("agents:durable:events")
async def test_an_event_answers_no_question_and_counts_if_it_came_early(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        answer = await turn.ask("Which one?")
        return f"{answer.text} {(await turn.wait_for('paid')).text}"

    async with engine(stores, diary.agents(run)) as tasks:
        asked = await send(tasks, "go", agent="durable")
        assert (await signal(tasks, asked, "paid", "early")).state == "input-required"
        done = await send(tasks, "red", agent="durable", task_id=asked.id)
        assert answer_of(done) == "red early"


@pytest.mark.requirement("agents:durable:events")
async def test_only_the_owner_of_a_task_can_signal_it(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        return (await turn.wait_for("paid")).text

    async with engine(stores, diary.agents(run)) as tasks:
        task = await begin(tasks)
        with pytest.raises(NotFound):
            await signal(tasks, task, "paid", caller=ODA)
        await signal(tasks, task, "paid", "mine")
        assert answer_of((await ended(tasks, ADA, task.id))[0]) == "mine"
        with pytest.raises(Conflict):
            await signal(tasks, task, "paid")


@pytest.mark.requirement("agents:durable:events")
async def test_a_wait_that_runs_out_of_time_says_so_again_in_a_replay(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        try:
            await turn.wait_for("paid", seconds=0.0)
        except TimeoutError as error:
            await diary.hang_once()
            return str(error)
        return ""

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert "'paid'" in answer_of(over)


@pytest.mark.requirement("agents:durable:replay")
@pytest.mark.parametrize("change", ["name", "kind", "fewer", "says", "silent"])
async def test_a_replay_that_does_something_else_fails_the_task_and_says_what(
    stores: Stores, diary: Diary, change: str
) -> None:
    async def run(turn: Turn) -> str:
        is_new = diary.runs > 1
        if not (is_new and change == "silent"):
            await turn.say("Other." if is_new and change == "says" else "Hello.")
        if is_new and change == "kind":
            await turn.sleep(0)
        elif not (is_new and change == "fewer"):
            await turn.step("pay" if is_new and change == "name" else "charge", diary.do, "charge")
        await diary.hang_once()
        return "done"

    over, _ = await lost_and_found(stores, diary, diary.agents(run, version="1"))
    assert over.state == "failed"
    assert "code has changed" in answer_of(over)
    assert diary.lines == ["charge"]


@pytest.mark.requirement("agents:durable:replay")
async def test_an_agent_cannot_hide_that_its_code_has_changed(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        try:
            await turn.step(f"charge {diary.runs}", diary.do, "charge")
        except BaseException:  # noqa: BLE001  an agent that catches everything
            return "all is well"
        await diary.hang_once()
        return "done"

    over, _ = await lost_and_found(stores, diary, diary.agents(run))
    assert over.state == "failed"
    assert "code has changed" in answer_of(over)


@pytest.mark.requirement("agents:durable:versions")
async def test_a_turn_goes_on_with_the_code_it_began_with_only(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        await turn.step("charge", diary.do, "charge")
        await diary.hang_once()
        return f"done in run {diary.runs}"

    old, new = diary.agents(run, version="1"), diary.agents(run, version="2")
    async with engine(stores, old, at_work=False) as lost:
        async with engine(stores, new) as other:
            task = await begin(lost)
            await asyncio.wait_for(diary.reached.wait(), PATIENCE)
            await settled(lost, task)
            await crash(lost)

            async def is_put_off() -> bool:
                found = await other._log.database.lookup("SELECT payload FROM jobs WHERE state = 'queued'")
                return found is not None and found[0] != "null"

            await until(is_put_off)
            assert (await other.get(ADA, task.id)).state == "working"
        later = TurnedClock()
        later.ahead = 60.0
        async with engine(stores, old, clock=later) as same:
            (done,) = await ended(same, ADA, task.id)
            assert answer_of(done) == "done in run 2"
        assert diary.lines == ["charge"]


@pytest.mark.requirement("agents:durable:versions")
async def test_an_operator_migrates_a_task_to_other_code_explicitly(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        await turn.step("charge", diary.do, "charge")
        await diary.hang_once()
        return "done"

    async with engine(stores, diary.agents(run, version="1"), at_work=False) as lost:
        task = await begin(lost)
        await asyncio.wait_for(diary.reached.wait(), PATIENCE)
        await settled(lost, task)
    async with engine(stores, diary.agents(run, version="2")) as heir:
        assert (await heir.pinned_code(ROOT, task.id) or "").startswith("1+")
        with pytest.raises(Forbidden):
            await heir.migrate(ADA, task.id)
        with pytest.raises(Forbidden):
            await heir.pinned_code(ADA, task.id)
        await heir.migrate(ROOT, task.id)
        (done,) = await ended(heir, ADA, task.id)
        assert answer_of(done) == "done"
        assert diary.lines == ["charge"]
        with pytest.raises(Conflict):
            await heir.migrate(ROOT, task.id)


@pytest.mark.requirement("agents:durable:versions")
def test_code_is_the_same_by_declared_version_or_else_by_hash() -> None:
    async def plain(turn: Turn) -> None: ...

    async def named(turn: Turn) -> None: ...

    vars(named)["version"] = "2"
    code = code_of(hosted(plain))
    assert is_same_code(hosted(plain), code)
    assert not is_same_code(hosted(plain), f"{code}x")
    assert is_same_code(hosted(named), "2+other")
    assert not is_same_code(hosted(named), "3+other")
    assert not is_same_code(hosted(Declared), code_of(hosted(plain)))
    assert is_same_code(hosted(Declared), "7+other")


class Declared(BaseA2AAgent):
    """Names its version."""

    version = "7"

    async def run(self, turn: Turn) -> None: ...


@pytest.mark.requirement("agents:durable:versions")
async def test_an_open_question_survives_new_code(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        return (await turn.ask("Which one?")).text

    async with engine(stores, diary.agents(run, version="1"), at_work=False) as lost:
        asked = await send(lost, "go", agent="durable")
    async with engine(stores, diary.agents(run, version="2")) as heir:
        assert answer_of(await send(heir, "red", agent="durable", task_id=asked.id)) == "red"


@pytest.mark.requirement("agents:durable:steps")
async def test_a_process_that_lost_its_task_begins_no_step(stores: Stores, diary: Diary) -> None:
    go_on = asyncio.Event()

    async def run(turn: Turn) -> str:
        await turn.step("first", diary.do, "first")
        if diary.runs == 1:
            diary.reached.set()
            await go_on.wait()
        await turn.step("second", diary.do, "second")
        return "done"

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as slow, engine(stores, agents, at_work=False) as heir:
        task = await begin(slow)
        await asyncio.wait_for(diary.reached.wait(), PATIENCE)
        await settled(slow, task)
        log = heir._log
        await log.database.write(lambda tx: tx.run("UPDATE agent_tasks SET holder = ?", log.origin))
        go_on.set()
        await until(lambda: _no_runs(slow))
        assert diary.lines == ["first"]


@pytest.mark.requirement("agents:durable:replay")
async def test_a_turn_that_takes_its_processes_down_is_not_tried_for_ever(
    stores: Stores, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.rooms.agents.tasks.recovery.MOST_TRIES", 2)

    async def run(turn: Turn) -> str:
        await turn.step("charge", diary.do, "charge")
        await asyncio.Event().wait()
        return "never"

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as first:
        task = await begin(first)
        await until(lambda: _rows(first, task), lambda rows: rows and rows[0][3] is not None)
    for number in (2, 3):
        async with engine(stores, agents):
            await until(lambda number=number: _has_run(diary, number))
    async with engine(stores, agents) as last:
        (over,) = await ended(last, ADA, task.id)
        assert over.state == "failed"
        assert "in a row" in answer_of(over)
    assert (diary.runs, diary.lines) == (3, ["charge"])


async def _has_run(diary: Diary, times: int) -> bool:
    return diary.runs == times


async def _no_runs(tasks: Tasks) -> bool:
    return not tasks._log.runs


@pytest.mark.requirement("agents:tasks:retention")
async def test_the_journal_is_kept_as_long_as_its_task(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        return str(await turn.step("charge", diary.do, "charge"))

    clock = TurnedClock()
    async with engine(stores, diary.agents(run), clock=clock, limits=TaskLimits(keep_days=30)) as tasks:
        task = await send(tasks, "go", agent="durable")
        clock.ahead = 29 * DAY
        await tasks.retention.sweep()
        assert [row[1:3] for row in await _rows(tasks, task)] == [("step", "charge")]
        clock.ahead = 31 * DAY
        await tasks.retention.sweep()
        assert await _rows(tasks, task) == []


async def test_a_suspended_task_can_be_canceled_and_stays_so(stores: Stores, diary: Diary) -> None:
    async def run(turn: Turn) -> str:
        return (await turn.ask("Which one?")).text

    agents = diary.agents(run)
    async with engine(stores, agents, at_work=False) as lost:
        asked = await send(lost, "go", agent="durable")
    async with engine(stores, agents) as heir:
        await suspended(heir, asked)
        assert (await heir.cancel(ADA, asked.id)).state == "canceled"
        with pytest.raises(Conflict):
            await begin(heir, "red", task_id=asked.id)
        assert diary.runs == 1
