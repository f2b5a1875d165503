"""A server killed in the middle of its streams, again and again: nothing acknowledged is lost, nothing is repeated."""

import asyncio
import contextlib
import random
import subprocess
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.conformance.server import REPOSITORY, environment, pentad
from tests.faults.agents.follower import LOST, Follower, gist, kept, sent, streamed
from tests.ports import free_port
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(900)]

COUNT = 60
STREAMS = 6
PATIENCE = 120.0
NO_SETTINGS: Mapping[str, str] = {}


@pytest.mark.requirement("agents:faults:kill")
@pytest.mark.parametrize(("dialect", "kills"), [("sqlite", 50), ("postgres", 8)])
async def test_streams_go_on_without_gap_or_duplicate_however_often_the_server_is_killed(
    tmp_path: Path, dialect: str, kills: int
) -> None:
    with store(dialect) as arguments:
        await killed_and_followed([*arguments, "--data", str(tmp_path)], kills)


@contextlib.contextmanager
def store(dialect: str) -> Generator[list[str]]:
    """The arguments that name a store."""
    if dialect == "sqlite":
        yield []
        return
    server = PostgresServer()
    try:
        yield ["--database", server.url()]
    finally:
        server.remove()


async def killed_and_followed(arguments: list[str], kills: int) -> None:
    chance = random.Random(20_261_115)
    followers: list[Follower] = []
    finished: set[str] = set()
    for _ in range(kills):
        while sum(not one.over for one in followers) < STREAMS:
            followers.append(Follower(len(followers), COUNT))
        async with serving(arguments) as (session, process):
            await until_it_dies(session, process, followers, finished, chance.randrange(1, 120))
    async with serving(arguments) as (session, _), asyncio.timeout(PATIENCE):
        await asyncio.gather(*(one.follow(session, lambda: None) for one in followers if not one.over))
        for one in followers:
            await check(session, one)
        for task_id in finished:
            assert (await kept(session, task_id))["status"]["state"] == "TASK_STATE_COMPLETED"
    assert sum(one.resumed for one in followers) >= kills
    assert min(len(finished), len(followers)) > STREAMS


async def until_it_dies(
    session: aiohttp.ClientSession,
    process: asyncio.subprocess.Process,
    followers: list[Follower],
    finished: set[str],
    events: int,
) -> None:
    """Follow every stream and also send tasks, and kill the server after this many events."""
    left = events

    def moved() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            kill(process)

    async def follow(one: Follower) -> None:
        with contextlib.suppress(*LOST):
            await one.follow(session, moved)

    async def send() -> None:
        with contextlib.suppress(*LOST):
            while True:
                finished.add(await sent(session))

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        sending = group.create_task(send())
        await asyncio.gather(*(follow(one) for one in followers if not one.over))
        kill(process)
        await process.wait()
        await sending


async def check(session: aiohttp.ClientSession, one: Follower) -> None:
    assert one.task_id is not None
    assert one.over
    full = {number: gist(event) async for number, event in streamed(session, "agentvault", one.task_id, one.count, 0)}
    assert list(full) == list(range(1, len(full) + 1))
    assert one.numbers == sorted(set(one.numbers))
    assert {full[number] for number in set(full).difference(one.numbers)} <= {"message"}  # the caller's own message
    assert one.counted == list(range(one.count))
    (artifact,) = (await kept(session, one.task_id))["artifacts"]
    assert "".join(part["text"] for part in artifact["parts"]).split() == [str(number) for number in one.counted]


@asynccontextmanager
async def serving(
    arguments: list[str], *, agent: str = "tests.faults.agents.agent:Agent", settings: Mapping[str, str] = NO_SETTINGS
) -> AsyncGenerator[tuple[aiohttp.ClientSession, asyncio.subprocess.Process]]:
    """A server on the same store as the previous one; it is killed at the end if it is alive."""
    port = free_port()
    command = [pentad(), "serve", "--port", str(port), "--grpc-port", "0", "--auth", "none", "--rooms", "agents"]
    unlimited = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0"}
    process = await asyncio.create_subprocess_exec(
        *command, "--agent", agent, *arguments,
        cwd=REPOSITORY, env={**environment(), **unlimited, **settings},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession(f"http://localhost:{port}") as session:
            await until_healthy(session, process)
            yield session, process
    finally:
        kill(process)
        await process.wait()


def kill(process: asyncio.subprocess.Process) -> None:
    """Kill it where it stands, if it is alive."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()


async def until_healthy(session: aiohttp.ClientSession, process: asyncio.subprocess.Process) -> None:
    async def is_healthy() -> bool:
        assert process.returncode is None, "The server ended while starting."
        with contextlib.suppress(*LOST):
            async with session.get("/healthz") as answer:
                return answer.status == 200
        return False

    await until(is_healthy)
