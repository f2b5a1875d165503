"""Declares the registers room. Modules that only an HTTP server or the demo needs are imported on demand."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pentad.jobs.job import Again, Job, JobRun, Retries
from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.platform import Mount, MountContext, Platform, Room, StoreWarning
from pentad.rooms.registers.attachments.files import TEXT_JOB
from pentad.rooms.registers.attachments.text import RETRIES as TEXT_RETRIES
from pentad.rooms.registers.interface.events import EVENTS, KINDS
from pentad.rooms.registers.interface.resources import RESOURCES, listing
from pentad.rooms.registers.interface.search_source import OBJECTS
from pentad.rooms.registers.interface.subscription_access import GUARDS, may_be_notified
from pentad.rooms.registers.interface.tools import TOOLS
from pentad.rooms.registers.query.search_words import SEARCHABLE
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.transfer_jobs import JOB as TRANSFERS
from pentad.rooms.registers.verbs import FIRST_CONTENT, VERBS
from pentad.rooms.registers.webhooks.service import JOB as WEBHOOKS
from pentad.rooms.registers.webhooks.targets import BODY as WEBHOOK_BODY

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages
    from pentad.kernel.provenance import Origin
    from pentad.mcp.generated_tools import Generated


@asynccontextmanager
async def open_registers(platform: Platform) -> AsyncGenerator[Registers]:
    registers = Registers(platform)
    await registers.start()
    try:
        yield registers
    finally:
        await registers.stop()


def mounts(registers: Registers, context: MountContext) -> Sequence[Mount]:
    """REST, and the OpenRegister profile of MCP, which, as in OpenRegister, web pages of any origin may call."""
    from pentad.rooms.registers.interface.openregister import PREFIXES, OpenRegisterEndpoint
    from pentad.rooms.registers.interface.rest.files import upload_mount
    from pentad.rooms.registers.interface.rest.routes import rest_routes

    endpoint = OpenRegisterEndpoint(registers, context.record)
    profiles = [Mount(f"{prefix}/mcp", endpoint=endpoint, any_origin=True) for prefix in PREFIXES]
    return [*profiles, upload_mount(registers), Mount(routes=rest_routes(registers))]


async def generated_tools(registers: Registers, principal: Principal, names: Sequence[str]) -> "Generated":
    """The typed tools of the schemas in a profile."""
    from pentad.rooms.registers.interface.typed_tools import generate_tools

    return await generate_tools(registers, principal, names)


async def store_warnings(database: Database) -> Sequence[StoreWarning]:
    """Warnings about schemas with so many indexes that every write is slow."""
    from pentad.rooms.registers.catalogue.schema_indexes import INDEX_ADVICE, index_warnings

    found = await database.read(lambda rows: index_warnings(rows, database.dialect))
    return [StoreWarning(text, INDEX_ADVICE) for text in found]


def pages() -> "Pages[Registers]":
    from pentad.rooms.registers.interface.pages import PAGES

    return PAGES


async def fill(registers: Registers) -> None:
    from pentad.rooms.registers.interface.demo import fill_demo

    await fill_demo(registers)


async def deliver_webhook(registers: Registers, run: JobRun) -> Again | None:
    return await registers.webhook_deliveries.run(run)


async def extract_attachment_text(registers: Registers, run: JobRun) -> None:
    await registers.attachment_texts.extract(run)


async def carry_out_transfer(registers: Registers, run: JobRun) -> None:
    await registers.transfers.run(run)


async def lineage(registers: Registers, principal: Principal, uri: str) -> "Origin | None":
    """The lineage of a resource of the room."""
    from pentad.rooms.registers.interface.lineage import lineage as lineage_of

    return await lineage_of(registers, principal, uri)


JOBS = (
    Job(WEBHOOKS, deliver_webhook, retry=Retries(attempts=None, longest=60.0), concurrency=16, timeout=None),
    Job(TEXT_JOB, extract_attachment_text, retry=TEXT_RETRIES, concurrency=1),
    Job(TRANSFERS, carry_out_transfer, retry=Retries(attempts=5), concurrency=2, timeout=None),
)

ROOM = Room(
    name="registers",
    title="Registers",
    instructions=(
        "Registers keep schema-checked data. Create a register, define a schema, write objects, query them in one call;"
        " every change has a history and can be undone."
    ),
    open=open_registers,
    tools=TOOLS,
    generated_tools=generated_tools,
    resources=RESOURCES,
    listing=listing,
    guards=GUARDS,
    in_audience=may_be_notified,
    organisation_of=lambda registers, principal: registers.organisations.of(principal),
    jobs=JOBS,
    event_kinds=KINDS,
    events=EVENTS,
    searchable=(SEARCHABLE,),
    search_sources=(OBJECTS,),
    lineage=lineage,
    schema="pentad.rooms.registers.schema",
    sealed=(WEBHOOK_BODY,),
    pages=pages,
    store_warnings=store_warnings,
    mounts=mounts,
    demo=fill,
    first_content=FIRST_CONTENT,
    cli=VERBS,
)
