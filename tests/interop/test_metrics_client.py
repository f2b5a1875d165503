"""The official SDK's client of the old transport against the metrics room, which has it turned on."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.conformance.server import REPOSITORY, environment, serving

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
SCRIPT = Path(__file__).with_name("metrics_client.py")


@pytest.mark.requirement("metrics:doc:sse")
def test_the_sdks_old_client_is_served(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENTAD_HTTP_SSE", "true")
    with serving("metrics") as server:
        address = server.url.replace("/mcp", "/sse")
        finished = subprocess.run(
            [sdk, SCRIPT, address], cwd=REPOSITORY, env=environment(), capture_output=True, timeout=120, check=False
        )
        assert finished.returncode == 0, finished.stderr.decode(errors="replace")[-4000:]
        logged = server.logged()
    saw = json.loads(finished.stdout)
    assert saw["server"] == "pentad"
    assert saw["tools"][0] == "getCapabilities"
    assert saw["figures"]["memory"]["total"] > 0
    assert "Did you mean 'host'?" in saw["refused"]
    assert '"level": "error"' not in logged
