"""A room whose one tool has the client's own model draft, and draft again."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.platform import Platform, Room
from pentad.rooms.avatars.answers.drafting.drafter import ClientDrafter, Prompt


@tool("draft_twice", read_only=True)
async def draft_twice(call: Call[None]) -> str:
    """Drafts with the client's model, then repairs."""
    drafter = ClientDrafter(call)
    first = await drafter.say("draft", Prompt("Be exact.", "What is a dike?"))
    return f"{first}, {await drafter.say('repair', Prompt('Be exact.', f'Mend {first}.'))}"


@asynccontextmanager
async def open_drafting(platform: Platform) -> AsyncGenerator[None]:
    yield None


ROOM = Room(name="drafting", title="Drafting", instructions="None.", open=open_drafting, tools=[draft_twice])
