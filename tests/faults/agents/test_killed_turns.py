"""Servers killed again and again while agents take steps, sleep, ask, wait for events and send push notifications.

No step runs twice, no question or event is lost, and the log has every event once.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.faults.agents.follower import gist, streamed
from tests.faults.agents.orders import DIARY, STEPS, Order, Orders
from tests.faults.agents.test_killed_servers import kill, serving, store
from tests.receiving import Receiver, receiving
from tests.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(3_600)]

AGENT = "tests.faults.agents.durable_agent:Agent"
OPEN = 8
PATIENCE = 180.0
_MOST_LINES = 15

Server = tuple[aiohttp.ClientSession, asyncio.subprocess.Process]


@pytest.mark.requirement("agents:faults:durable")
@pytest.mark.parametrize(("dialect", "servers", "kills"), [("sqlite", 1, 200), ("postgres", 2, 200)])
async def test_no_step_runs_twice_and_nothing_is_lost_however_often_servers_are_killed(
    tmp_path: Path, dialect: str, servers: int, kills: int
) -> None:
    diary = tmp_path / "diary.txt"
    diary.touch()
    with store(dialect) as arguments:
        async with receiving() as receiver:
            orders = Orders(receiver.url, OPEN, random.Random(20_261_116))
            settings = {DIARY: str(diary), "PENTAD_AGENTS_PUSH_PRIVATE": "true"}
            battery = Battery([*arguments, "--data", str(tmp_path)], settings, diary)
            await battery.run(orders, servers, kills)
            async with battery.serving() as (session, _):
                await until(lambda: finish(session, orders), seconds=PATIENCE)
                check_steps(orders.all, diary.read_text().split("\n")[:-1])
                for order in orders.all:
                    await check_events(session, order)
                await until(lambda: all_told(orders.all, receiver), seconds=PATIENCE)
                check_pushes(orders.all, receiver)
    assert len(orders.all) > kills / 10


async def finish(session: aiohttp.ClientSession, orders: Orders) -> bool:
    await orders.go_on(session, begin=False)
    return not orders.open


class Battery:
    """Servers on one store. Each is killed after a while and started again."""

    def __init__(self, arguments: Sequence[str], settings: dict[str, str], diary: Path) -> None:
        self._arguments = list(arguments)
        self._settings = settings
        self._diary = diary
        self._chance = random.Random(20_261_117)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Server]:
        async with serving(self._arguments, agent=AGENT, settings=self._settings) as server:
            yield server

    async def run(self, orders: Orders, servers: int, kills: int) -> None:
        async with AsyncExitStack() as stack:
            running = [await self._start(stack) for _ in range(servers)]
            for _ in range(kills):
                await self._work(orders, [session for session, _ in running])
                position = self._chance.randrange(servers)
                kill(running[position][1])
                await running[position][1].wait()
                running[position] = await self._start(stack)

    async def _start(self, stack: AsyncExitStack) -> Server:
        return await stack.enter_async_context(self.serving())

    async def _work(self, orders: Orders, sessions: Sequence[aiohttp.ClientSession]) -> None:
        """Let the agents take some steps."""
        enough = self._lines() + self._chance.randrange(1, _MOST_LINES)

        async def has_grown() -> bool:
            await orders.go_on(self._chance.choice(sessions))
            return self._lines() >= enough

        await until(has_grown, seconds=PATIENCE)

    def _lines(self) -> int:
        return self._diary.read_bytes().count(b"\n")


def check_steps(orders: Sequence[Order], lines: Sequence[str]) -> None:
    """Every step ran at most once, and exactly once unless it was interrupted."""
    assert len(lines) == len(set(lines))
    assert {order.state for order in orders} == {"COMPLETED"}
    done = set(lines)
    for order in orders:
        assert order.done <= done
        assert order.said.startswith("red, 10 EUR, ")


async def check_events(session: aiohttp.ClientSession, order: Order) -> None:
    """The log has each chunk once, in order, and one question."""
    assert order.task_id is not None
    events = {number: gist(event) async for number, event in streamed(session, "agentvault", order.task_id, 0, 0)}
    assert list(events) == list(range(1, len(events) + 1))
    said = list(events.values())
    assert [one for one in said if one.isdigit()] == [str(number) for number in range(STEPS)]
    assert said.count("input-required") == 1
    assert said.count("completed") == 1


async def all_told(orders: Sequence[Order], receiver: Receiver) -> bool:
    told = {one.headers["x-a2a-notification-token"] for one in receiver.requests if b"COMPLETED" in one.body}
    return {order.key for order in orders} <= told


def check_pushes(orders: Sequence[Order], receiver: Receiver) -> None:
    """Notifications came in order, each at least once."""
    for order in orders:
        ids = [
            one.headers["webhook-id"]
            for one in receiver.requests
            if one.headers["x-a2a-notification-token"] == order.key
        ]
        numbers = list(dict.fromkeys(int(one.rpartition(".")[2]) for one in ids))
        assert numbers == sorted(numbers)
        chunks = [
            one for one in receiver.requests if one.headers["webhook-id"] in ids and b"artifactUpdate" in one.body
        ]
        assert len({one.headers["webhook-id"] for one in chunks}) == STEPS
