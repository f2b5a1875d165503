"""Declares the avatars room. Modules that only a server or the demo needs are imported on demand."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pentad.jobs.job import Job, JobRun, Schedule
from pentad.kernel.principal import Principal
from pentad.listings.listing import Listing
from pentad.listings.offered_agents import OfferedAgent
from pentad.platform import Mount, MountContext, Platform, Room
from pentad.rooms.avatars.interface.prompts import PROMPTS
from pentad.rooms.avatars.interface.resources import RESOURCES, listing
from pentad.rooms.avatars.interface.search_source import PASSAGES as FOUND_PASSAGES
from pentad.rooms.avatars.interface.tools import TOOLS
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.avatars.settings import AvatarsSettings
from pentad.rooms.avatars.verbs import FIRST_CONTENT, VERBS
from pentad.search.searchable import TEXT, Searchable, SearchField

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages
    from pentad.kernel.provenance import Origin

_RETENTION_SECONDS = 6 * 3600.0
_LONGEST_REFRESH_SECONDS = 6 * 3600.0


@asynccontextmanager
async def open_avatars(platform: Platform) -> AsyncGenerator[Avatars]:
    yield Avatars(platform)


def mounts(avatars: Avatars, _context: MountContext) -> Sequence[Mount]:
    """Each avatar served alone, and routes for the command line."""
    from pentad.rooms.avatars.interface.rest import command_routes
    from pentad.rooms.avatars.interface.single_avatar import one_avatar

    return [
        Mount("/rooms/avatars/{id}/mcp", part=lambda avatar_id: one_avatar(ROOM, avatars, avatar_id)),
        Mount(routes=command_routes(avatars)),
    ]


async def health(avatars: Avatars) -> Mapping[str, Any]:
    """The number of avatars and passages."""
    return await avatars.health()


async def listed(avatars: Avatars) -> Sequence[Listing]:
    """Every avatar, for the directory."""
    from pentad.rooms.avatars.interface.publication import listing_of

    return [listing_of(one, avatars.platform.site.rstrip("/")) for one in await avatars.list_with_config()]


async def offered_agents(avatars: Avatars) -> Sequence[OfferedAgent]:
    """Every avatar, as an agent that answers questions."""
    from pentad.rooms.avatars.interface.publication import offer_of

    return [offer_of(one, avatars.platform.site.rstrip("/")) for one in await avatars.list_with_config()]


async def lineage(avatars: Avatars, principal: Principal, uri: str) -> "Origin | None":
    """Where a resource of the room comes from."""
    from pentad.rooms.avatars.interface.lineage import lineage as lineage_of

    return await lineage_of(avatars, principal, uri)


def pages() -> "Pages[Avatars]":
    from pentad.rooms.avatars.interface.pages import PAGES

    return PAGES


async def fill(avatars: Avatars) -> None:
    from pentad.rooms.avatars.interface.demo import fill_demo

    await fill_demo(avatars)


PASSAGES = Searchable(
    "avatar",
    {TEXT: SearchField()},  # headings and text in one field: a heading says as much about a passage as its text
    vector_of=(TEXT,),
    filters=("roles", "year_from", "year_to", "sources"),
)

EVENT_KINDS = {
    "avatar.created": "There is a new avatar.",
    "avatar.removed": "An avatar was removed.",
    "corpus.changed": "The corpus of an avatar changed.",
    "avatar.answered": "An avatar answered you.",
}


async def remove_old(avatars: Avatars, _run: JobRun) -> None:
    """The job `avatars.retention`: delete old answers and the checkpoints of abandoned ingests."""
    await avatars.answers.remove_old()
    await avatars.remove_old_checkpoints()


async def refresh(avatars: Avatars, _run: JobRun) -> None:
    """The job `avatars.refresh`: ingest watched folders and sources on the web again, if they changed."""
    await avatars.refresh()


def refresh_times(avatars: Avatars) -> Sequence[Schedule]:
    minutes = avatars.platform.settings.watch_minutes
    return [Schedule(minutes * 60.0)] if minutes > 0 else []


JOBS = (
    Job("avatars.retention", remove_old, lambda _: [Schedule(_RETENTION_SECONDS)]),
    Job("avatars.refresh", refresh, refresh_times, timeout=_LONGEST_REFRESH_SECONDS),
)

ROOM: Room[Avatars] = Room(
    name="avatars",
    title="Avatars",
    instructions=(
        "An avatar answers from its corpus alone: every statement cites a passage, and it says so if the corpus has no"
        " answer. Use list_avatars to find one, query_corpus to search its passages, generate_response to ask it, and"
        " verify_response to check what is said in its name."
    ),
    open=open_avatars,
    tools=TOOLS,
    resources=RESOURCES,
    prompts=PROMPTS,
    listing=listing,
    listed=listed,
    offered_agents=offered_agents,
    event_kinds=EVENT_KINDS,
    searchable=(PASSAGES,),
    search_sources=(FOUND_PASSAGES,),
    lineage=lineage,
    schema="pentad.rooms.avatars.schema",
    pages=pages,
    mounts=mounts,
    health=health,
    demo=fill,
    jobs=JOBS,
    first_content=FIRST_CONTENT,
    settings=AvatarsSettings,
    cli=VERBS,
)
