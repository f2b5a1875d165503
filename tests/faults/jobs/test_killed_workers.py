"""A process killed in the middle of a job: another one takes the job over within seconds."""

import asyncio
import contextlib
import subprocess
from pathlib import Path

import pytest

from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.storage.open import open_database
from tests.conformance.server import REPOSITORY, environment, pentad
from tests.faults.agents.test_killed_servers import store
from tests.faults.jobs.room import FOLDER
from tests.ports import free_port
from tests.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(300)]
PATIENCE = 60.0


async def begun(arguments: list[str], notes: Path) -> asyncio.subprocess.Process:
    command = [pentad(), "serve", "--port", str(free_port()), "--grpc-port", "0", "--auth", "none"]
    return await asyncio.create_subprocess_exec(
        *command, "--rooms", "tests.faults.jobs.room:ROOM", *arguments,
        cwd=REPOSITORY, env={**environment(), FOLDER: str(notes)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


async def noted(notes: Path, kind: str) -> set[int]:
    """The processes that left such a note, once there is one."""

    async def look() -> set[int]:
        return {int(one.name.partition("-")[2]) for one in notes.glob(f"{kind}-*")}

    return await until(look)


@pytest.mark.requirement("jobs:takeover")
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
async def test_the_job_of_a_killed_process_is_run_by_another(tmp_path: Path, dialect: str) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with store(dialect) as named:
        arguments = [*named, "--data", str(tmp_path)]
        servers = [await begun(arguments, notes) for _ in range(2)]
        try:
            url = named[1] if named else None
            database = await open_database(url, tmp_path)
            queue = JobQueue(database, SystemClock())

            async def enqueued() -> bool:
                with contextlib.suppress(Exception):  # until a server has created the tables
                    await database.write(lambda tx: queue.enqueue(tx, "work.long", key="one"))
                    return True
                return False

            await until(enqueued)
            (first,) = await noted(notes, "began")
            [killed] = [one for one in servers if one.pid == first]
            killed.kill()
            await killed.wait()
            assert await noted(notes, "ended") == {one.pid for one in servers} - {first}
            await database.close()
        finally:
            for one in servers:
                with contextlib.suppress(ProcessLookupError):
                    one.kill()
                await one.wait()
