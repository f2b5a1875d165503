"""Declares the directory room. Modules that only a server, the console or the demo needs are imported on demand."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from pentad.jobs.job import Job, JobRun, Retries, Schedule
from pentad.kernel.principal import Principal
from pentad.listings.listing import Catalogue
from pentad.platform import Mount, MountContext, Platform, Room
from pentad.rooms.directory.federation.peers import CREDENTIALS, MOST_PEERS
from pentad.rooms.directory.federation.peers import JOB as PEER
from pentad.rooms.directory.interface.peer_tools import PEER_TOOLS
from pentad.rooms.directory.interface.prompts import PROMPTS
from pentad.rooms.directory.interface.record_tools import RECORD_TOOLS
from pentad.rooms.directory.interface.reference_tools import HISTORY_TOOLS, OWNER_TOOLS
from pentad.rooms.directory.interface.resources import RESOURCES, listing
from pentad.rooms.directory.interface.schema_tools import SCHEMA_TOOLS
from pentad.rooms.directory.interface.search_source import RECORDS
from pentad.rooms.directory.interface.state_tools import STATE_TOOLS
from pentad.rooms.directory.interface.translation_tools import TRANSLATION_TOOLS, import_many, import_registry
from pentad.rooms.directory.interface.trust_tools import TRUST_TOOLS
from pentad.rooms.directory.records.publications import JOB as PUBLISH
from pentad.rooms.directory.records.syncs import JOB as SYNC
from pentad.rooms.directory.search.service import SEARCHABLE
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.trust.policy_service import JOB as POLICY
from pentad.rooms.directory.verbs import FIRST_CONTENT, VERBS

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages
    from pentad.kernel.provenance import Origin
    from pentad.net.grpc_calls import GrpcServices

TRUST_SECONDS: Final = 300.0
REGISTRY_SECONDS: Final = 3_600.0


@asynccontextmanager
async def open_directory(platform: Platform) -> AsyncGenerator[Directory]:
    directory = Directory(platform)
    await directory.start()
    try:
        yield directory
    finally:
        await directory.stop()


def mounts(directory: Directory, context: MountContext) -> Sequence[Mount]:
    """REST routes for administration, the registry and catalogues for hosts, and AGNTCY's API over gRPC."""
    from pentad.rooms.directory.interface.catalog_api import catalog_mounts
    from pentad.rooms.directory.interface.registry_api import configured_readers, registry_mounts
    from pentad.rooms.directory.interface.rest import routes

    def services() -> "GrpcServices":
        from pentad.rooms.directory.interface.grpc.server import directory_services

        return directory_services(directory, context.host)

    readers = configured_readers(directory)
    open_to_hosts = [*registry_mounts(directory, readers), *catalog_mounts(directory, readers)]
    return [Mount(routes=routes(directory)), *open_to_hosts, Mount(grpc=services)]


async def lineage(directory: Directory, _principal: Principal, uri: str) -> "Origin | None":
    """Where a resource of the room comes from."""
    from pentad.rooms.directory.interface.lineage import lineage as lineage_of

    return await lineage_of(directory, uri)


def pages() -> "Pages[Directory]":
    from pentad.rooms.directory.interface.pages import PAGES

    return PAGES


async def fill(directory: Directory) -> None:
    from pentad.rooms.directory.interface.demo import fill_demo

    await fill_demo(directory)


async def health(directory: Directory) -> Mapping[str, Any]:
    """The number of records."""
    return {"records": await directory.records.count()}


async def publish(directory: Directory, run: JobRun) -> None:
    await directory.publications.run(run)


async def sync(directory: Directory, run: JobRun) -> None:
    await directory.syncs.run(run)


async def refresh_trust(directory: Directory, run: JobRun) -> None:
    """Check unchecked signatures, and ask domains and issuers again before their answers expire."""
    await directory.trust.refresh()
    await directory.policy.refresh_issuers()


async def follow(directory: Directory, run: JobRun) -> None:
    """Follow a peer."""
    await directory.subscriptions.run(run)


async def apply_policy(directory: Directory, run: JobRun) -> None:
    """Evaluate all records by a changed trust policy."""
    await directory.policy.run(run)


async def fill_registry(directory: Directory, run: JobRun) -> None:
    """Add the MCP servers of a store from before there was a registry."""
    await directory.registry.catch_up()


def catalogue(directory: Directory) -> Catalogue | None:
    """The records of what this server hosts; None with a remote directory, which this server must not fill."""
    return directory.listed if directory.is_local else None


JOBS = (
    Job(PUBLISH, publish, timeout=None),
    Job(SYNC, sync, concurrency=1, timeout=None),
    Job(PEER, follow, retry=Retries(attempts=None, longest=60.0), concurrency=MOST_PEERS, timeout=None),
    Job(POLICY, apply_policy, concurrency=1, timeout=None),
    Job("directory.trust", refresh_trust, lambda directory: [Schedule(TRUST_SECONDS)]),
    Job("directory.registry", fill_registry, lambda directory: [Schedule(REGISTRY_SECONDS)], timeout=None),
)

EVENT_KINDS = {
    "record.pushed": "A record was pushed.",
    "record.deleted": "A record was deleted.",
    "record.published": "A record was published.",
    "record.unpublished": "A record was withdrawn.",
    "record.signed": "A record was signed.",
    "record.state_changed": "A record was proposed, approved, deprecated, withdrawn or made a draft.",
    "sync.created": "A synchronization was created.",
    "sync.completed": "A synchronization is done.",
    "sync.failed": "A synchronization has failed.",
}

ROOM = Room(
    name="directory",
    title="Directory",
    instructions=(
        "The directory keeps agent records (OASF), each under the hash of its content. Validate a record, push it, find"
        " records by skill, domain, name or words, pull them by CID, and translate them from and to other formats."
    ),
    open=open_directory,
    tools=(
        *SCHEMA_TOOLS,
        *RECORD_TOOLS,
        *TRANSLATION_TOOLS,
        *HISTORY_TOOLS,
        import_many,
        import_registry,
        *OWNER_TOOLS,
        *STATE_TOOLS,
        *TRUST_TOOLS,
        *PEER_TOOLS,
    ),
    resources=RESOURCES,
    prompts=PROMPTS,
    listing=listing,
    jobs=JOBS,
    catalogue=catalogue,
    event_kinds=EVENT_KINDS,
    searchable=(SEARCHABLE,),
    search_sources=(RECORDS,),
    lineage=lineage,
    schema="pentad.rooms.directory.schema",
    mounts=mounts,
    has_port=True,
    pages=pages,
    identity=("dir-mcp-server", "v0.1.0"),
    health=health,
    demo=fill,
    first_content=FIRST_CONTENT,
    settings=DirectorySettings,
    sealed=(CREDENTIALS,),
    cli=VERBS,
)
