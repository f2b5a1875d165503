"""A room with one tool that takes a text, and one that takes none."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.mcp.arguments import Arguments
from pentad.mcp.declarations import tool
from pentad.platform import Platform, Room


class Text(Arguments):
    text: str


@tool("shout", read_only=True)
async def shout(arguments: Text) -> str:
    """Say it louder."""
    return arguments.text.upper()


@tool("whistle", read_only=True)
async def whistle() -> str:
    """Whistle."""
    return "fweet"


@asynccontextmanager
async def open_room(_platform: Platform) -> AsyncGenerator[None]:
    yield None


ROOM = Room(name="shouting", title="Shouting", instructions="Shouts.", open=open_room, tools=(shout, whistle))
