"""The official SDK's clients of the old transport (1.x and 2.x), against servers that have it turned on."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.server import REPOSITORY, environment, serving
from tests.interop.environments import sdk_1_python, sdk_python

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
SCRIPT = Path(__file__).with_name("metrics_client.py")


@pytest.mark.parametrize("rooms", ["metrics", "directory,registers,agents,avatars,metrics"])
@pytest.mark.parametrize("python", [sdk_python, sdk_1_python], ids=["2.x", "1.x"])
@pytest.mark.requirement("metrics:doc:sse", "mcp:http-sse:all-rooms")
def test_the_sdks_old_client_is_served(python: Callable[[], Path], rooms: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENTAD_HTTP_SSE", "true")
    sdk = python()
    with serving(rooms) as server:
        address = server.url.replace("/mcp", "/sse")
        finished = subprocess.run(
            [sdk, SCRIPT, address], cwd=REPOSITORY, env=environment(), capture_output=True, timeout=120, check=False
        )
        assert finished.returncode == 0, finished.stderr.decode(errors="replace")[-4000:]
        logged = server.logged()
    saw = json.loads(finished.stdout)
    assert saw["server"] == "pentad"
    assert "getCapabilities" in saw["tools"]
    assert ("search_tools" in saw["tools"]) is (rooms != "metrics")
    assert saw["figures"]["memory"]["total"] > 0
    assert "Did you mean 'host'?" in saw["refused"]
    assert '"level": "error"' not in logged
