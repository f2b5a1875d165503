"""What the registers room offers. What only an HTTP server or the demo needs is imported when they ask for it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pentad.jobs.job import Again, Job, JobRun, Retries
from pentad.platform import Mount, MountContext, Platform, Room
from pentad.rooms.registers.following import GUARDS, hears
from pentad.rooms.registers.query.words import SEARCHABLE
from pentad.rooms.registers.resources import RESOURCES, listing
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.tools import TOOLS
from pentad.rooms.registers.verbs import VERBS
from pentad.rooms.registers.webhook_targets import BODY as WEBHOOK_BODY
from pentad.rooms.registers.webhooks import JOB as WEBHOOKS

if TYPE_CHECKING:
    from pentad.kernel.pages import Pages


@asynccontextmanager
async def open_registers(platform: Platform) -> AsyncGenerator[Registers]:
    registers = Registers(platform)
    await registers.start()
    try:
        yield registers
    finally:
        await registers.stop()


def mounts(registers: Registers, context: MountContext) -> Sequence[Mount]:
    """REST, and the OpenRegister profile of MCP; OpenRegister lets pages of every origin call the latter."""
    from pentad.rooms.registers.compat import PREFIXES, OpenRegisterEndpoint
    from pentad.rooms.registers.rest.routes import rest_routes

    endpoint = OpenRegisterEndpoint(registers, context.record)
    profiles = [Mount(f"{prefix}/mcp", endpoint=endpoint, any_origin=True) for prefix in PREFIXES]
    return [*profiles, Mount(routes=rest_routes(registers))]


def pages() -> "Pages[Registers]":
    from pentad.rooms.registers.pages import PAGES

    return PAGES


async def fill(registers: Registers) -> None:
    from pentad.rooms.registers.demo import fill_demo

    await fill_demo(registers)


async def deliver_webhook(registers: Registers, run: JobRun) -> Again | None:
    return await registers.webhook_deliveries.run(run)


JOBS = (Job(WEBHOOKS, deliver_webhook, retry=Retries(attempts=None, longest=60.0), concurrency=16, timeout=None),)

ROOM = Room(
    name="registers",
    title="Registers",
    instructions=(
        "Registers keep schema-checked data. Create a register, define a schema, write objects, query them in one call;"
        " every change has a history and can be undone."
    ),
    open=open_registers,
    tools=TOOLS,
    resources=RESOURCES,
    listing=listing,
    guards=GUARDS,
    hears=hears,
    jobs=JOBS,
    searchable=(SEARCHABLE,),
    schema="pentad.rooms.registers.schema",
    sealed=(WEBHOOK_BODY,),
    pages=pages,
    mounts=mounts,
    demo=fill,
    cli=VERBS,
)
