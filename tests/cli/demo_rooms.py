"""Two rooms for the demo: one that fills itself, one that cannot."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pentad.kernel.errors import Unavailable
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.platform import Platform, Room


@dataclass(frozen=True)
class RoomWithDemo(Room[list[str]]):
    demo: Callable[[list[str]], Awaitable[None]] | None = None


@asynccontextmanager
async def _open(_platform: Platform) -> AsyncGenerator[list[str]]:
    yield []


@tool("filled", read_only=True)
async def _filled(call: Call[list[str]]) -> str:
    """What the demo left here."""
    return ", ".join(call.service)


async def _fill(service: list[str]) -> None:
    service.append("demo data")


async def _cannot(_service: list[str]) -> None:
    raise Unavailable("Nothing to show.")


FILLED = RoomWithDemo("filled", "Filled", "A room.", _open, tools=(_filled,), demo=_fill)
BROKEN = RoomWithDemo("broken", "Broken", "A room.", _open, demo=_cannot)
