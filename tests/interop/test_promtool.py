"""Prometheus's own checker, from Debian's package `prometheus`, reads the metrics room's exports."""

import shutil
import subprocess

import pytest

from pentad.rooms.metrics.loaders.formats import export_snapshot
from tests.anypoint.engine import USER, platform_engine
from tests.anypoint.server import Platform
from tests.anypoint.world import World

pytestmark = [pytest.mark.interop, pytest.mark.anyio]
COLLECTORS = ("core", "ch", "ex", "dc", "arm", "rtf", "apm", "apc", "ap", "apma", "amq", "osv2")
PROMTOOL = shutil.which("promtool")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.requirement("metrics:loaders:prometheus")
async def test_promtool_has_nothing_to_say(collector: str) -> None:
    async with platform_engine(Platform(World()), USER) as one:
        answer = await one.ask(collector)
    body = export_snapshot("prometheus", answer.snapshot, answer.info).body
    assert body
    done = subprocess.run(
        [PROMTOOL or "promtool", "check", "metrics"],
        input=body,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
