"""A process killed in the middle of a poll: the next one polls again within seconds, not when some lease expires."""

import asyncio
import contextlib
import subprocess
from pathlib import Path

import pytest

from tests.conformance.server import REPOSITORY, environment, pentad
from tests.ports import free_port
from tests.rooms.metrics.sources import Request, Response, http_source
from tests.waiting import until_true

pytestmark = [pytest.mark.anyio, pytest.mark.faults, pytest.mark.timeout(300)]


async def begun(data: Path, source: str) -> asyncio.subprocess.Process:
    command = [pentad(), "serve", "--port", str(free_port()), "--grpc-port", "0", "--auth", "none"]
    return await asyncio.create_subprocess_exec(
        *command, "--rooms", "metrics", "--data", str(data),
        cwd=REPOSITORY, env={**environment(), "PENTAD_METRICS_PROMETHEUS_URL": source},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.requirement("metrics:polling", "metrics:polling:crash")
async def test_a_poll_that_a_crash_cut_off_is_repeated_by_the_next_process(tmp_path: Path) -> None:
    over = asyncio.Event()
    answered: list[str] = []
    is_first = True

    async def prometheus(asked: Request) -> Response:
        if is_first:
            hanging.set()
            await over.wait()
        else:
            answered.append(asked.path)
        return Response(json={"status": "success", "data": {"resultType": "scalar", "result": [0, "3"]}})

    hanging = asyncio.Event()
    async with http_source(prometheus) as source:
        servers = [await begun(tmp_path, source.url)]
        try:
            async with asyncio.timeout(120):
                await hanging.wait()
            servers[0].kill()
            await servers[0].wait()
            is_first = False
            servers.append(await begun(tmp_path, source.url))
            await until_true(lambda: answered)
        finally:
            over.set()
            for one in servers:
                with contextlib.suppress(ProcessLookupError):
                    one.kill()
                await one.wait()
