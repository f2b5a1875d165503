"""The cost of querying a whole organisation: 50 business groups with 4 environments, a platform with 50 ms latency.

Pentad queries all Anypoint collectors at once with an empty cache: it logs in, walks the tree of groups, plans further
calls from the answers, and computes the figures. httpx then sends the same requests, all known from the start. Each
client is a separate process, and the platform another one on the other core. The ideal time is the number of calls
divided by the limit, rounded up, times the latency.

Then the organisation is scraped: the page of `/metrics/collectors`, compared with prometheus-client.
"""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.effort import Effort
from benchmarks.environment import ROOT, python_with, say
from benchmarks.process import environment, serving
from benchmarks.table import Figure, Goal
from tests.anypoint.world import World

HTTPX: Final = "httpx 0.28"
RENDERER: Final = "prometheus-client"
_GROUPS: Final = 50
_ENVIRONMENTS: Final = 4
_LATENCY_MS: Final = 50
_LIMIT: Final = 64
_PACKAGES: Final = ("httpx==0.28.*", "uvloop")


def measure(effort: Effort) -> list[Figure]:
    """All figures of this part. The rival runs only once, because a run takes a minute."""
    rival = python_with("httpx", _PACKAGES)
    shape = [f"--groups={_GROUPS}", f"--environments={_ENVIRONMENTS}", f"--latency-ms={_LATENCY_MS}"]
    platform = [sys.executable, "-m", "tests.anypoint", "--port", "{port}", *shape]
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder, serving(platform) as server:
        url, file = f"http://127.0.0.1:{server.port}", Path(folder) / "requests.json"
        ours = [sys.executable, "-m", "benchmarks.metrics.client", url, World().root, str(_LIMIT)]
        say("Metrics: the requests of a whole organisation ...")
        _run([*ours, file])
        runs: list[dict[str, float]] = []
        for number in range(effort.rounds):
            say(f"Metrics, round {number + 1} of {effort.rounds} ...")
            runs.append(_run(ours))
        say(f"{HTTPX}: the same requests ...")
        theirs = _run([rival, ROOT / "benchmarks" / "rivals" / "httpx_client.py", file, str(_LIMIT)])
        say("Metrics: a scrape of the organisation ...")
        scrape = [sys.executable, "-m", "benchmarks.metrics.scrape", url, World().root, str(_LIMIT)]
        scraped = _run([*scrape, str(max(5, effort.rounds))])
    return [*_figures(runs, theirs), _scrape_figure(scraped)]


def _scrape_figure(run: dict[str, float]) -> Figure:
    group = f"Metrics: a scrape of {_GROUPS} groups x {_ENVIRONMENTS} environments, {run['samples']:,.0f} samples"
    return Figure(
        group, "CPU time of a scrape after new polls, read from the store", "ms", run["ours"] * 1000,
        run["theirs"] * 1000, Goal("at most", 2.0), "the rival renders samples in memory", RENDERER,
    )  # fmt: skip


def _figures(runs: Sequence[dict[str, float]], theirs: dict[str, float]) -> list[Figure]:
    calls = runs[0]["calls"]
    ideal = math.ceil(calls / _LIMIT) * _LATENCY_MS / 1000
    wall = median(run["wall"] for run in runs)
    cpu = median(run["cpu"] / run["calls"] for run in runs) * 1e6
    group = f"Metrics of {_GROUPS} groups x {_ENVIRONMENTS} environments, {calls:,.0f} calls of {_LATENCY_MS} ms"
    goal = Goal("at most", 1.2, of="figure")
    return [
        Figure(
            group, f"time over the ideal, {_LIMIT} at once", "x", wall / ideal, theirs["wall"] / ideal, goal,
            against=HTTPX,
        ),
        Figure(group, "time", "s", wall, theirs["wall"], Goal("at most", 1.0), f"ideal {ideal:.2f} s", HTTPX),
        Figure(
            group, "CPU time of the client, one call", "us", cpu, theirs["cpu"] * 1e6 / theirs["calls"],
            Goal("at most", 1.0), against=HTTPX,
        ),
    ]  # fmt: skip


def _run(command: Sequence[str | Path]) -> dict[str, float]:
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env=environment(), capture_output=True, check=False, text=True
    )
    if done.returncode:
        raise SystemExit(f"A client under measurement ended with an error:\n{done.stderr}")
    said: dict[str, float] = json.loads(done.stdout)
    if said["failed"]:
        raise SystemExit(f"A client under measurement failed at {said['failed']:.0f} requests.")
    return said
