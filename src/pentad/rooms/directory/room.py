"""What the directory offers. What only a server or the demo needs is imported when they ask for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.platform import Platform, Room
from pentad.rooms.directory.service import Directory


@asynccontextmanager
async def open_directory(platform: Platform) -> AsyncGenerator[Directory]:
    directory = Directory(platform)
    await directory.start()
    try:
        yield directory
    finally:
        await directory.stop()


ROOM = Room(
    name="directory",
    title="Directory",
    instructions=(
        "The directory keeps agent records (OASF), each under the hash of its content. Validate a record, push it, find"
        " records by skill, domain, name or words, pull them by CID, and translate them from and to other formats."
    ),
    open=open_directory,
)
