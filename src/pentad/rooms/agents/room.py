"""Declares the agents room. Modules that only a server or the demo needs are imported on demand."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pentad.jobs.job import Job, JobRun, Schedule
from pentad.kernel.principal import Principal
from pentad.platform import Mount, MountContext, Room
from pentad.rooms.agents.interface.mcp_tasks import CallerTasks
from pentad.rooms.agents.interface.prompts import PROMPTS
from pentad.rooms.agents.interface.resources import GUARDS, RESOURCES, listing
from pentad.rooms.agents.interface.search_source import AGENTS, OWN_TASKS
from pentad.rooms.agents.interface.tools import TOOLS
from pentad.rooms.agents.registry.card_index import SEARCHABLE
from pentad.rooms.agents.service import Agents, open_agents, own_site
from pentad.rooms.agents.settings import AgentsSettings
from pentad.rooms.agents.tasks.child_tasks import origin_trace, spans_of_trace
from pentad.rooms.agents.tasks.engine import jobs_of
from pentad.rooms.agents.tasks.push_store import CONFIG_COLUMN
from pentad.rooms.agents.tasks.task_search import JOB as INDEX_TASKS
from pentad.rooms.agents.tasks.task_search import SEARCHABLE as TASK_TEXTS
from pentad.rooms.agents.verbs import FIRST_CONTENT, VERBS

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages
    from pentad.kernel.provenance import Origin
    from pentad.net.grpc_calls import GrpcServices


MOUNTED_SECONDS: Final = 60.0


def mounts(agents: Agents, context: MountContext) -> Sequence[Mount]:
    """The agents over HTTP and gRPC, the registry, the context linter, temporary links, files, approvals, and routes
    for the command line.
    """
    from pentad.rooms.agents.interface.a2a import AgentEndpoint
    from pentad.rooms.agents.interface.a2a_operations import Operations
    from pentad.rooms.agents.interface.approvals import approval_routes
    from pentad.rooms.agents.interface.file_routes import file_routes, upload_mount
    from pentad.rooms.agents.interface.rest import context_mounts, registry_mounts
    from pentad.rooms.agents.interface.task_routes import task_routes

    operations = Operations(agents.tasks, agents.cards, agents.with_context_hash)
    endpoint = AgentEndpoint(operations, agents.agents, agents.cards, agents.platform.limits)

    def services() -> "GrpcServices":
        from pentad.rooms.agents.interface.grpc import AgentGrpc

        platform = agents.platform
        agents.cards.announce_grpc(context.port, platform.settings.grpc_address, platform.public_url)
        return AgentGrpc(operations, agents.agents, agents.cards, platform.limits, own_site(platform.site)).services()

    return [
        *endpoint.mounts(),
        Mount(grpc=services),
        *registry_mounts(agents.registry),
        *context_mounts(agents.links),
        upload_mount(agents.files, agents.platform.settings.file_bytes),
        Mount(routes=[*task_routes(agents), *file_routes(agents.files), *approval_routes(agents)]),
    ]


def pages() -> "Pages[Agents]":
    from pentad.rooms.agents.interface.pages import PAGES

    return PAGES


async def fill(agents: Agents) -> None:
    from pentad.rooms.agents.interface.demo import fill_demo

    await fill_demo(agents)


async def health(agents: Agents) -> Mapping[str, Any]:
    """The number of hosted agents, and whether one of them blocks the server."""
    return {"agents": len(agents.listed_agents), **agents.tasks.watchdog.health()}


async def cancel_ended(agents: Agents, _run: JobRun) -> None:
    await agents.mounted_agents.cancel_ended()


def mounted_schedules(agents: Agents) -> Sequence[Schedule]:
    return [Schedule(MOUNTED_SECONDS)] if agents.mounted_agents.mounted else []


async def index_tasks(agents: Agents, run: JobRun) -> None:
    await agents.task_search.index_rest(run.key or "")


async def lineage(agents: Agents, principal: Principal, uri: str) -> "Origin | None":
    """The lineage of a resource of the room."""
    from pentad.rooms.agents.interface.lineage import lineage as lineage_of

    return await lineage_of(agents, principal, uri)


EVENT_KINDS = {
    "task.submitted": "A task was accepted.",
    "task.working": "A task was accepted and begun.",
    "task.input-required": "A task waits for an answer or an approval.",
    "task.auth-required": "A task waits for a login.",
    "task.completed": "A task is done.",
    "task.failed": "A task has failed.",
    "task.canceled": "A task was canceled.",
    "task.rejected": "A task was rejected by its agent.",
    "approval.requested": "An agent asks for an approval.",
    "approval.approved": "An approval was given.",
    "approval.refused": "An approval was refused.",
    "approval.expired": "An approval was not decided in time.",
}

MOUNTED = Job("agents.mounted", cancel_ended, mounted_schedules)

TASK_INDEX = Job(INDEX_TASKS, index_tasks, timeout=None)

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
    jobs=(*jobs_of(lambda agents: agents.tasks), MOUNTED, TASK_INDEX),
    event_kinds=EVENT_KINDS,
    spans=spans_of_trace,
    origin=origin_trace,
    listed=Agents.listings,
    host_offered=Agents.host_offered,
    searchable=(SEARCHABLE, TASK_TEXTS),
    search_sources=(AGENTS, OWN_TASKS),
    lineage=lineage,
    schema="pentad.rooms.agents.schema",
    sealed=(CONFIG_COLUMN,),
    mounts=mounts,
    has_port=True,
    pages=pages,
    health=health,
    demo=fill,
    first_content=FIRST_CONTENT,
    settings=AgentsSettings,
    cli=VERBS,
)
