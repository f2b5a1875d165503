"""Two servers on one PostgreSQL poll one figure: a receiver gets one message that it fires and one that it is over."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.conformance.server import REPOSITORY, environment, pentad
from tests.ports import free_port
from tests.receiving import receiving
from tests.rooms.metrics.sources import Request, Response, http_source
from tests.stores import PostgresServer
from tests.waiting import until_true

pytestmark = [pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(300)]
_SETTINGS = """
[rooms.metrics]
prometheus_url = "{source}"

[rooms.metrics.prometheus_queries]
queue = "queue"

[rooms.metrics.poll]
prometheus = 2
host = 0
pentad = 0

[rooms.metrics.thresholds."prometheus.queue"]
warn = 10
alarm = 100
times = 1

[rooms.metrics.receivers.oncall]
type = "webhook"
url = "{hook}"
wait = 1
"""


@pytest.mark.requirement("metrics:notifications", "metrics:notifications:processes")
async def test_two_processes_tell_a_receiver_once_that_it_fires_and_once_that_it_is_over(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    value = 1

    async def prometheus(_asked: Request) -> Response:
        return Response(json={"status": "success", "data": {"resultType": "scalar", "result": [0, str(value)]}})

    url = postgres_server.fresh_database()
    async with http_source(prometheus) as source, receiving() as receiver:
        servers: list[asyncio.subprocess.Process] = []
        try:
            for number in range(2):
                folder = tmp_path / str(number)
                folder.mkdir()
                config = folder / "pentad.toml"
                config.write_text(_SETTINGS.format(source=source.url, hook=receiver.url), encoding="utf-8")
                servers.append(
                    await asyncio.create_subprocess_exec(
                        pentad(), "serve", "--port", str(free_port()), "--grpc-port", "0", "--auth", "none",
                        "--rooms", "tests.interop.fresh_metrics:ROOM", "--data", str(folder), "--database", url,
                        cwd=REPOSITORY, env={**environment(), "PENTAD_CONFIG": str(config)},
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    )
                )  # fmt: skip

            async def polled(times: int) -> None:
                """Wait until the source has had this many requests."""
                before = source.calls.total()
                await until_true(lambda: source.calls.total() >= before + times, 100)

            await polled(1)
            value = 50
            await until_true(lambda: len(receiver.requests) >= 1, 100)
            await polled(2)
            value = 1
            await until_true(lambda: len(receiver.requests) >= 2, 100)
            await polled(2)
        finally:
            for one in servers:
                if one.returncode is None:
                    one.terminate()
                await one.wait()
    assert [request.json["status"] for request in receiver.requests] == ["firing", "resolved"]
    assert len({request.json["alerts"][0]["fingerprint"] for request in receiver.requests}) == 1
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 2
