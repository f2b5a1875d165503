"""A room whose job takes long enough for its server to be killed, and notes who ran it."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pentad.jobs.job import Job, JobRun
from pentad.platform import Platform, Room

FOLDER = "JOB_NOTES"
"""Names the folder of the notes: `began-<pid>` and `ended-<pid>`."""


class Worker:
    def __init__(self, platform: Platform) -> None:
        self.notes = Path(os.environ[FOLDER])
        self.platform = platform


@asynccontextmanager
async def open_room(platform: Platform) -> AsyncGenerator[Worker]:
    yield Worker(platform)


async def work(worker: Worker, run: JobRun) -> None:
    """Hangs the first time; a process that takes it over finishes at once."""
    (worker.notes / f"began-{os.getpid()}").touch()
    if run.attempt == 1:
        await asyncio.Event().wait()
    (worker.notes / f"ended-{os.getpid()}").touch()


ROOM = Room(name="work", title="Work", instructions="", open=open_room, jobs=(Job("work.long", work, timeout=None),))
