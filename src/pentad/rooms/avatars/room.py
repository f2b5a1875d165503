"""What the avatars room offers. What only a server or the demo needs is imported when they ask for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.platform import Platform, Room
from pentad.rooms.avatars.service import Avatars


@asynccontextmanager
async def open_avatars(platform: Platform) -> AsyncGenerator[Avatars]:
    avatars = Avatars(platform)
    await avatars.start()
    try:
        yield avatars
    finally:
        await avatars.stop()


ROOM = Room(
    name="avatars",
    title="Avatars",
    instructions=(
        "An avatar answers from its corpus alone: every statement cites a passage, and it says so when the corpus is"
        " silent. Search its passages, ask it, and check what is said in its name."
    ),
    open=open_avatars,
    schema="pentad.rooms.avatars.schema",
)
