"""What the agents room offers. What only a server or the demo needs is imported when they ask for it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pentad.mcp.exchange import HttpExchange
from pentad.platform import Mount, MountContext, Room
from pentad.rooms.agents.book import CallerTasks
from pentad.rooms.agents.prompts import PROMPTS
from pentad.rooms.agents.push.store import CONFIG as PUSH_CONFIG
from pentad.rooms.agents.resources import GUARDS, RESOURCES, listing
from pentad.rooms.agents.service import Agents, open_agents
from pentad.rooms.agents.tools import TOOLS

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages


def mounts(agents: Agents, _context: MountContext) -> Sequence[Mount]:
    """The agents in all dialects and their cards, the registry, the linter of contexts, and temporary links."""
    from pentad.rooms.agents.endpoint import AgentsApp
    from pentad.rooms.agents.lent import lent_mount
    from pentad.rooms.agents.linting import linting_mount
    from pentad.rooms.agents.operations.asked import Asked, Engine
    from pentad.rooms.agents.registry.routes import registry_mounts
    from pentad.rooms.agents.registry.store import Registered
    from pentad.rooms.agents.tasks.model import Dialect, Message

    async def accept(asked: Asked, message: Message, dialect: Dialect) -> Message:
        return await agents.intake.accept(asked.caller, message, "lenient" if dialect == "agentvault" else None)

    async def register(admitted: HttpExchange, card: Mapping[str, Any]) -> Registered:
        kept = await agents.registry.register(admitted.principal, card)
        await agents.list_in_directory(admitted.principal, kept.card)
        return kept

    app = AgentsApp(Engine(agents.tasks, accept, agents.shown), agents.agents, agents.cards, agents.platform.limits)
    registry = registry_mounts(agents.registry, register)
    return [*app.mounts(), *registry, linting_mount(), lent_mount(agents.lending)]


def pages() -> "Pages[Agents]":
    from pentad.rooms.agents.pages import PAGES

    return PAGES


async def fill(agents: Agents) -> None:
    from pentad.rooms.agents.demo import fill_demo

    await fill_demo(agents)


async def health(agents: Agents) -> Mapping[str, Any]:
    """Which agents run here."""
    return {"agents": len(agents.agents)}


ROOM = Room(
    name="agents",
    title="Agents",
    instructions=(
        "Agents take tasks, here or elsewhere. Find one with agents_list, hand it a task with the context it needs"
        " (agents_send_task), answer what it asks under the same task_id, look at tasks and cancel them."
    ),
    open=open_agents,
    tools=TOOLS,
    resources=RESOURCES,
    prompts=PROMPTS,
    listing=listing,
    guards=GUARDS,
    tasks=CallerTasks,
    schema="pentad.rooms.agents.schema",
    sealed=(PUSH_CONFIG,),
    mounts=mounts,
    pages=pages,
    health=health,
    demo=fill,
)
