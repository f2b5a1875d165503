"""The room the protocol benchmark calls: one tool, one checked argument, no work of its own.

    pentad serve --auth none --rooms benchmarks.room:ROOM

Whatever time a call takes is then the server's. It is never part of the product.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic import Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.declarations import tool
from pentad.platform import Platform, Room


class EchoArguments(Arguments):
    text: str = Field(description="What to say back.", max_length=1000)


@tool("echo", read_only=True)
async def echo(arguments: EchoArguments) -> str:
    """Says back what it was told."""
    return arguments.text


@asynccontextmanager
async def open_nothing(_platform: Platform) -> AsyncGenerator[None]:
    yield None


ROOM: Room[None] = Room(
    name="echo",
    title="Echo",
    instructions="Says back what it is told.",
    open=open_nothing,
    tools=(echo,),
)
