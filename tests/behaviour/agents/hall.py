"""A room with only the agents over HTTP: the engine, its cards, and agents that the tests control."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from pentad.agentvault.server import BaseA2AAgent, a2a_method
from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Mount, MountContext, Platform, Room
from pentad.rooms.agents.card_signing import CardSigner, derived_key
from pentad.rooms.agents.cards import Cards
from pentad.rooms.agents.hosting.built_in_agents import Echo
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.interface.a2a import AgentEndpoint
from pentad.rooms.agents.interface.a2a_operations import Operations
from pentad.rooms.agents.models import Message
from pentad.rooms.agents.settings import TaskLimits
from pentad.rooms.agents.tasks.engine import Tasks, jobs_of
from pentad.rooms.agents.tasks.task_log import TaskLog
from tests.rooms.agents.tasks.engines import PlainContexts
from tests.tck.agent import Choosy

NEEDED = "urn:test:needed"
OFFERED = "urn:test:offered"


class Steps(BaseA2AAgent):
    """Takes a step each time the test says so: `Steps.more` by the id of the message that began it."""

    name: ClassVar[str] = "steps"
    more: ClassVar[dict[str, "asyncio.Queue[str | None]"]] = {}

    async def run(self, turn: Turn) -> Any:
        steps = self.more.setdefault(turn.text, asyncio.Queue())
        while (step := await steps.get()) is not None:
            await turn.artifact("log", text=step, append=True, last=False)
        return "Done."


class Refuser(BaseA2AAgent):
    """Ends otherwise than well: as it is told when it asks, or at once."""

    name: ClassVar[str] = "refuser"

    async def run(self, turn: Turn) -> Any:
        if turn.text == "login":
            return turn.need_login("Log in at https://login.example.org and come back.")
        answer = await turn.ask("How shall it end?")
        return turn.fail("It broke.") if answer.text == "fail" else turn.reject("Not that.")


class Own(BaseA2AAgent):
    """Has methods of its own, and an extension nobody may do without."""

    name: ClassVar[str] = "own"
    extensions: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"uri": NEEDED, "description": "Needed.", "required": True},
        {"uri": OFFERED, "description": "Offered.", "params": {"most": 3}},
    )

    async def run(self, turn: Turn) -> Any:
        return "own"

    @a2a_method("own/double")
    async def double(self, number: int) -> dict[str, int]:
        return {"twice": number * 2}

    @a2a_method("own/broken")
    async def broken(self) -> int:
        raise RuntimeError("canary-7f")


class CheckedContexts(PlainContexts):
    """As a check of contexts does: refuses with the fields, or lets pass."""

    async def accept(self, caller: Principal, message: Message, level: Any = None) -> Message:
        if "bad" in (message.metadata or {}):
            problems = [{"path": "/message/metadata/bad", "rule": "bad", "message": "It is bad."}]
            raise InvalidInput("The message is bad.", details={"problems": problems})
        return message


class Hall:
    def __init__(self, platform: Platform, tasks: Tasks, agents: Mapping[str, HostedAgent]) -> None:
        self.tasks = tasks
        cards = Cards(CardSigner(derived_key(b"secret")), protected=platform.protected, started=1_750_000_000.0)
        self.endpoint = AgentEndpoint(Operations(tasks, cards), agents, cards, platform.limits)


@asynccontextmanager
async def open_hall(platform: Platform) -> AsyncGenerator[Hall]:
    agents = {one.name: one for one in map(hosted, (Choosy, Echo, Steps, Own))}
    log = TaskLog(platform.database, platform.clock, TaskLimits(), CheckedContexts(), platform.jobs)
    tasks = Tasks(log, agents, fetcher=platform.fetcher, push_private=True, site="http://localhost")
    await tasks.open()
    try:
        yield Hall(platform, tasks, agents)
    finally:
        await tasks.close()


def mounts(hall: Hall, _context: MountContext) -> Sequence[Mount]:
    return hall.endpoint.mounts()


ROOM: Room[Hall] = Room(
    name="agents",
    title="Agents",
    instructions="",
    open=open_hall,
    mounts=mounts,
    schema="pentad.rooms.agents.schema",
    jobs=jobs_of(lambda hall: hall.tasks),
)
