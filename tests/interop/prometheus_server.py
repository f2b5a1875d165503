"""A real Prometheus, from Debian's package `prometheus`, that scrapes a Pentad of these tests."""

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.waiting import wait_until

PROMETHEUS = shutil.which("prometheus")
PROMTOOL = shutil.which("promtool")
_CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: pentad
    metrics_path: /metrics/collectors
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


class PrometheusServer:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def api(self, path: str, **params: str) -> dict[str, Any]:
        """A response of its API; an error has `status` "error"."""
        query = urllib.parse.urlencode(params)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def values(self, query: str) -> dict[tuple[tuple[str, str], ...], float]:
        """The current values of an expression, by labels."""
        found = self.api("query", query=query)
        assert found["status"] == "success", found
        return {
            tuple(sorted((name, text) for name, text in one["metric"].items() if name != "__name__")): float(
                one["value"][1]
            )
            for one in found["data"]["result"]
        }

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


@contextmanager
def scraping(port: int, folder: Path) -> Generator[PrometheusServer]:
    """A Prometheus that scrapes the server at this port every second."""
    folder.mkdir(parents=True, exist_ok=True)
    config, own = folder / "prometheus.yml", free_port()
    config.write_text(_CONFIG.format(port=port), encoding="utf-8")
    command = [
        PROMETHEUS or "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{own}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        server = PrometheusServer(own)
        try:
            wait_until(server.is_ready, "Prometheus did not start")
            yield server
        finally:
            process.terminate()
            process.wait(30)
