"""Engines over a real store, each as another process would have it, and an agent that does as it is told."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pentad.access.scopes import role_scopes
from pentad.app import CORE_SETS
from pentad.jobs.queue import JobQueue
from pentad.jobs.workers import Workers
from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.rooms.agents.approvals.inbox import EXPIRE_JOB, WEBHOOK_JOB
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import TERMINAL, Event, Message, Part, Task
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.child_tasks import CHILDREN
from pentad.rooms.agents.tasks.engine import Tasks, jobs_of
from pentad.rooms.agents.tasks.push_store import PUSH_JOB
from pentad.rooms.agents.tasks.task_log import DEADLINE, TURN, TaskLog
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import die
from tests.stores import Stores
from tests.waiting import until

SETS = (*CORE_SETS, MigrationSet("agents", "pentad.rooms.agents.schema"))
ADA = Principal("user:ada", "ada", role_scopes("writer"))
ODA = Principal("user:oda", "oda", role_scopes("writer"))


class PlainContexts:
    """Contexts as they come."""

    async def accept(self, caller: Principal, message: Message, level: Any = None) -> Message:
        return message

    def of_message(self, message: Message, caller: Principal) -> Any:
        found = (message.metadata or {}).get("mcp_context")
        return found if isinstance(found, dict) else None

    async def of_conversation(self, message: Message, caller: Principal) -> Any:
        return self.of_message(message, caller)

    async def with_contents(self, message: Message, caller: Principal) -> Message:
        return message

    def to_log(self, message: Message) -> Message:
        return message

    async def from_log(self, message: Message, caller: Principal) -> Message:
        return message


class TurnedClock(SystemClock):
    """The machine's clock, moved ahead by what a test adds."""

    __slots__ = ("ahead",)

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class StoppedClock(TurnedClock):
    """Time passes only when a test adds some."""

    __slots__ = ()

    def now(self) -> float:
        return 1_800_000_000.0 + self.ahead


async def puppet(turn: Turn) -> Any:
    """Does what the first word says."""
    word, _, rest = turn.text.partition(" ")
    if word == "chunks":
        for number in range(int(rest)):
            await turn.artifact("out", text=f"{number} ", append=number > 0, last=False)
        return "done"
    if word == "ask":
        return turn.ask("Which one?")
    if word == "wait":
        return (await turn.ask("Which one?")).text
    if word == "talk":
        await turn.say("Listening.")
        async for message in turn.incoming():
            if message.text == "enough":
                return "bye"
            await turn.say(message.text)
    if word == "reject":
        turn.reject("Not that.")
    if word == "fail":
        turn.fail("It broke.")
    if word == "crash":
        raise RuntimeError("a secret of the agent's")
    if word == "reply":
        return turn.reply("just so")
    return turn.text


def said(text: str, **more: Any) -> Message:
    return Message(id=f"m-{text[:20]}", role="user", parts=(Part(text=text),), **more)


@asynccontextmanager
async def engine(
    stores: Stores,
    agents: Mapping[str, HostedAgent] | None = None,
    *,
    clock: SystemClock | None = None,
    limits: TaskLimits | None = None,
    database: Database | None = None,
    at_work: bool = True,
    rooms: Sequence[str] = (),
    **more: Any,
) -> AsyncGenerator[Tasks]:
    """One more process's engine on the store. Unless it is `at_work`, it takes nothing over and tells nobody."""
    database = database or await stores.open(SETS)
    known = {"puppet": hosted(puppet)} if agents is None else agents
    clock = clock or SystemClock()
    queue = JobQueue(database, clock)
    queue.rooms = rooms
    names = ("secret_box", "owner_now", "neighbours", "approvals")
    options = {name: more.pop(name) for name in names if name in more}
    fetcher = more.get("fetcher")
    log = TaskLog(database, clock, limits or TaskLimits(), PlainContexts(), queue, fetcher=fetcher, **options)
    tasks = Tasks(log, known, **more)
    wanted = {TURN, DEADLINE, CHILDREN, EXPIRE_JOB, *((PUSH_JOB, WEBHOOK_JOB) if tasks.deliveries is not None else ())}
    workers = Workers(queue)
    workers.add([job for job in jobs_of(_itself) if job.name in wanted], tasks)
    await tasks.open()
    if at_work:
        workers.start()
    try:
        yield tasks
    finally:
        await workers.stop()
        await tasks.close()
        await queue.close()


def _itself(tasks: Tasks) -> Tasks:
    return tasks


async def send(tasks: Tasks, text: str, **more: Any) -> Task:
    answer = await tasks.send(more.pop("caller", ADA), more.pop("agent", "puppet"), said(text), dialect="1.0", **more)
    assert isinstance(answer, Task)
    return answer


def answer_of(task: Task) -> str:
    """The text a task ended with, or asks with."""
    assert task.status_message is not None
    return task.status_message.text


def says(text: str) -> Callable[[Task], bool]:
    """Whether a task, which may not have said anything yet, ended or asks with this text."""
    return lambda task: task.status_message is not None and task.status_message.text == text


async def log_of(tasks: Tasks, task: Task, caller: Principal = ADA) -> list[Event]:
    """All events of a task, from the log itself."""
    from pentad.rooms.agents import store

    return await tasks._log.database.read(lambda rows: store.events_after(rows, task.id, 0, 100_000))


async def crash(tasks: Tasks) -> None:
    """The process is gone: nothing is said any more, nothing renewed, nothing released."""
    await tasks.recovery.stop()
    tasks._log._stop_listening()
    for run in list(tasks._log.runs.values()):
        run.stored = False
        run.stop()
    tasks._log.runs.clear()
    await die(tasks._log.jobs)


async def ended(tasks: Tasks, caller: Principal, *ids: str) -> list[Task]:
    """The tasks once they are over."""

    async def look() -> list[Task]:
        return [await tasks.get(caller, one) for one in ids]

    return await until(look, lambda found: {task.state for task in found} <= TERMINAL)
