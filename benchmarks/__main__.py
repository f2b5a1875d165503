"""`python -m benchmarks [PART ...] [--json FILE]`: set up, measure, print a table for each part.

A part is a module with `measure(effort)`, which returns or yields figures; a room adds its own with one line in PARTS.
The exit code says whether the benchmarks ran, not whether the goals were met.
"""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from benchmarks.effort import STORES, Effort
from benchmarks.environment import RIVAL, load_generator
from benchmarks.process import server_core
from benchmarks.table import Figure, table

PARTS: Final = {
    "protocol": "benchmarks.protocol",
    "directory": "benchmarks.directory.measuring",
    "agents": "benchmarks.agents.measuring",
    "avatars": "benchmarks.avatars.reading",
    "registers": "benchmarks.registers.measuring",
    "search": "benchmarks.search.measuring",
    "metrics": "benchmarks.metrics.measuring",
    "console": "benchmarks.console",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Pentad beside its peers, in one run.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--rounds", type=int, default=5, help="rounds for each server  [default: 5]")
    parser.add_argument("--seconds", type=int, default=2, help="length of a round  [default: 2]")
    parser.add_argument("--objects", type=int, default=100_000, help="objects in a filled store  [default: 100000]")
    parser.add_argument("--large", action="store_true", help="relations in ten times as many objects as well")
    parser.add_argument("--store", choices=STORES, help="the one store for parts that measure both  [default: both]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"there is no part {min(unknown)!r}; the parts are {', '.join(PARTS)}")
    if sys.platform != "linux":
        sys.exit("The benchmarks read /proc and pin processes to cores: run them on Linux.")
    load_generator()
    pinned = server_core() is not None
    stores = (given.store,) if given.store else STORES
    effort = Effort(given.rounds, given.seconds, given.objects, given.large, stores)
    figures: list[Figure] = []
    for part in given.parts or PARTS:
        measured: list[Figure] = []
        try:
            for figure in import_module(PARTS[part]).measure(effort):
                measured.append(figure)  # noqa: PERF402  a list would lose what was measured before an error
        finally:
            print(table(measured, RIVAL), flush=True)  # at once: a later part may fail
        figures += measured
    if not pinned:
        print("\nServers and load shared one core: read the ratios with care.")
    if given.json is not None:
        report = {"rival": RIVAL, "pinned": pinned, "figures": [figure.as_json() for figure in figures]}
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
