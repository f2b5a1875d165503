"""What the registers room offers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.platform import Platform, Room
from pentad.rooms.registers.service import Registers


@asynccontextmanager
async def open_registers(platform: Platform) -> AsyncGenerator[Registers]:
    yield Registers(platform)


ROOM = Room(
    name="registers",
    title="Registers",
    instructions=(
        "Registers keep schema-checked data. Create a register, define a schema, write objects, query them in one call;"
        " every change has a history and can be undone."
    ),
    open=open_registers,
    schema="pentad.rooms.registers.schema",
)
