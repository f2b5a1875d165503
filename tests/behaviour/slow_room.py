"""A room that never finishes: its completion, its listing and its resource wait forever."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pentad.mcp.call import Call
from pentad.mcp.declarations import ResourcePage, resource
from pentad.platform import Platform, Room


async def complete(_typed: str, _call: Call[Any], _others: Mapping[str, str]) -> Sequence[str]:
    await asyncio.Event().wait()
    return []


@resource("slow://{name}", name="slow", complete={"name": complete})
async def slow(name: str) -> str:
    """Is never read to its end."""
    await asyncio.Event().wait()
    return name


async def listing(_call: Call[Any], _cursor: str | None) -> ResourcePage:
    await asyncio.Event().wait()
    return ResourcePage([])


@asynccontextmanager
async def nothing(_platform: Platform) -> AsyncGenerator[None]:
    yield None


ROOM: Room[None] = Room(name="slow", title="Slow", instructions="", open=nothing, resources=[slow], listing=listing)
