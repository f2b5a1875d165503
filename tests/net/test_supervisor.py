"""Two real worker processes behind one socket: they answer, one is killed, all of them end."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pentad.kernel.errors import Misconfigured
from pentad.net.listen import bind
from pentad.net.supervisor import inherited, supervise
from tests.waiting import until_true

PATIENCE = 60.0
HERE = Path(__file__).parent
WORKER = HERE / "worker_app.py"


async def who_answers(port: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 200 ")
    return int(answer.rpartition(b"\r\n\r\n")[2])


async def answers_until(port: int, enough: Callable[[set[int]], bool]) -> set[int]:
    """Call, many at a time, until the processes seen are enough."""
    seen: set[int] = set()
    async with asyncio.timeout(PATIENCE):
        while not enough(seen):
            seen.update(await asyncio.gather(*(who_answers(port) for _ in range(8))))
    return seen


@asynccontextmanager
async def supervised() -> AsyncGenerator[tuple[int, asyncio.Event]]:
    stopping = asyncio.Event()
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        supervise(
            [sys.executable, str(WORKER)],
            bind("127.0.0.1", 0),
            workers=2,
            ready=ready.set_result,
            stopping=stopping,
            stop_seconds=10 * PATIENCE,  # no worker may need to be killed
        )
    )
    try:
        yield await asyncio.wait_for(ready, PATIENCE), stopping
    finally:
        stopping.set()
        await asyncio.wait_for(task, PATIENCE)


async def gone(pid: int) -> None:
    """Wait until a process that is no child of ours has ended."""

    def has_ended() -> bool:
        try:
            return " Z " in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return True

    await until_true(has_ended)


@pytest.mark.anyio
@pytest.mark.requirement("cli:workers")
async def test_two_workers_answer_a_killed_one_is_replaced_and_all_end():
    async with supervised() as (port, stopping):
        first = await answers_until(port, lambda seen: len(seen) == 2)
        victim = min(first)
        os.kill(victim, signal.SIGKILL)
        later = await answers_until(port, lambda seen: bool(seen - first))
        assert len((first | later) - {victim}) == 2
        stopping.set()
    for pid in first | later:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.anyio
async def test_a_worker_that_cannot_start_is_an_error_not_a_loop():
    listener = bind("127.0.0.1", 0)
    with pytest.raises(Misconfigured, match="ended with code 3"):
        await asyncio.wait_for(supervise([sys.executable, str(WORKER), "fail"], listener, workers=2), PATIENCE)


@pytest.mark.anyio
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
async def test_workers_end_with_their_supervisor_however_it_ends(signal_number: signal.Signals):
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, str(HERE / "supervisor_app.py"), stdout=asyncio.subprocess.PIPE
    )
    assert supervisor.stdout is not None
    port = int(await asyncio.wait_for(supervisor.stdout.readline(), PATIENCE))
    workers = await answers_until(port, lambda seen: len(seen) == 2)
    supervisor.send_signal(signal_number)
    code = await asyncio.wait_for(supervisor.wait(), PATIENCE)
    for pid in workers:
        await gone(pid)
    if signal_number is signal.SIGKILL:
        assert code == -signal.SIGKILL
    else:
        assert code == 0
        assert await supervisor.stdout.readline() == b"ended\n"


def test_a_process_without_a_supervisor_has_inherited_nothing():
    assert inherited() is None
