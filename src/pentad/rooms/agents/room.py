"""Declares the agents room. Modules that only a server or the demo needs are imported on demand."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pentad.mcp.http_exchange import HttpExchange
from pentad.platform import Mount, MountContext, Room
from pentad.rooms.agents.interface.mcp_tasks import CallerTasks
from pentad.rooms.agents.interface.prompts import PROMPTS
from pentad.rooms.agents.interface.resources import GUARDS, RESOURCES, listing
from pentad.rooms.agents.interface.tools import TOOLS
from pentad.rooms.agents.service import Agents, open_agents
from pentad.rooms.agents.settings import AgentsSettings
from pentad.rooms.agents.tasks.engine import jobs_of
from pentad.rooms.agents.tasks.push_store import CONFIG_COLUMN
from pentad.rooms.agents.verbs import FIRST_CONTENT, VERBS

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages


def mounts(agents: Agents, _context: MountContext) -> Sequence[Mount]:
    """The agent endpoint, the registry, the context linter, temporary links, and routes for the command line."""
    from pentad.rooms.agents.interface.a2a import AgentEndpoint
    from pentad.rooms.agents.interface.a2a_operations import AgentRequest, Operations
    from pentad.rooms.agents.interface.rest import command_routes, context_mounts, registry_mounts
    from pentad.rooms.agents.models import Dialect, Message
    from pentad.rooms.agents.registry.store import CardRecord

    async def accept(request: AgentRequest, message: Message, dialect: Dialect) -> Message:
        return await agents.intake.accept(request.caller, message, "lenient" if dialect == "agentvault" else None)

    async def register(exchange: HttpExchange, card: Mapping[str, Any]) -> CardRecord:
        record = await agents.registry.register(exchange.principal, card)
        await agents.list_in_directory(exchange.principal, record.card)
        return record

    operations = Operations(agents.tasks, agents.cards, accept, agents.with_context_hash)
    endpoint = AgentEndpoint(operations, agents.agents, agents.cards, agents.platform.limits)
    return [
        *endpoint.mounts(),
        *registry_mounts(agents.registry, register),
        *context_mounts(agents.links),
        Mount(routes=command_routes(agents)),
    ]


def pages() -> "Pages[Agents]":
    from pentad.rooms.agents.interface.pages import PAGES

    return PAGES


async def fill(agents: Agents) -> None:
    from pentad.rooms.agents.interface.demo import fill_demo

    await fill_demo(agents)


async def health(agents: Agents) -> Mapping[str, Any]:
    """The number of hosted agents."""
    return {"agents": len(agents.agents)}


ROOM = Room(
    name="agents",
    title="Agents",
    instructions=(
        "Agents, hosted here or remote, accept tasks. Find one with agents_list, send it a task with the context it"
        " needs (agents_send_task), answer its questions with the same task_id, and read or cancel tasks."
    ),
    open=open_agents,
    tools=TOOLS,
    resources=RESOURCES,
    prompts=PROMPTS,
    listing=listing,
    guards=GUARDS,
    tasks=CallerTasks,
    jobs=jobs_of(lambda agents: agents.tasks),
    schema="pentad.rooms.agents.schema",
    sealed=(CONFIG_COLUMN,),
    mounts=mounts,
    pages=pages,
    health=health,
    demo=fill,
    first_content=FIRST_CONTENT,
    settings=AgentsSettings,
    cli=VERBS,
)
