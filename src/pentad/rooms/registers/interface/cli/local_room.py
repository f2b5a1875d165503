"""The registers room in this process, for verbs that run without a server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pentad.rooms.registers.interface.cli.options import WHAT_THERE_IS
from pentad.terminal.launcher import open_room

if TYPE_CHECKING:
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.service import Registers
    from pentad.settings.model import Settings


@asynccontextmanager
async def open_locally(settings: "Settings", *, beside_all: bool = False) -> "AsyncGenerator[tuple[Registers, Caller]]":
    """The room, and the local user as its caller. `beside_all` opens the other rooms too: data may refer to them."""
    from pentad.kernel.errors import NotFound
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.registers.models import Caller
    from pentad.rooms.registers.not_found import Missing

    async with open_room(settings, "registers", beside_all=beside_all) as room:
        try:
            yield room, Caller(LOCAL, agent="pentad registers")
        except Missing as error:
            raise NotFound(error.message, hint=WHAT_THERE_IS, details=error.details) from None
