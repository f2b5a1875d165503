"""What the agents room offers. What only a server or the demo needs is imported when they ask for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.platform import Platform, Room
from pentad.rooms.agents.service import Agents


@asynccontextmanager
async def open_agents(platform: Platform) -> AsyncGenerator[Agents]:
    yield Agents(platform)


ROOM = Room(
    name="agents",
    title="Agents",
    instructions=(
        "Agents take tasks, hosted here or elsewhere. Find an agent by its card, hand it a task with the context it"
        " needs, follow the task while it runs, answer what it asks, and cancel it."
    ),
    open=open_agents,
    schema="pentad.rooms.agents.schema",
)
