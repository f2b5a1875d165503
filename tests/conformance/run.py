"""Run the official conformance suites against Pentad: `python -m tests.conformance.run [RUN ...]`.

The released suite, and the newest one with the frozen requirements of each revision. Scenarios that a revision does not
score count here like the others. Ends with 0 only if every check passed, without a warning.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from tests.conformance.node import node, npm_folder
from tests.conformance.server import serving

SUITE: Final = "@modelcontextprotocol/conformance"
RELEASED: Final = "0.1.16"
NEWEST: Final = "0.2.0-alpha.12"
_WIDTH: Final = 80
_SCENARIO: Final = "=== Running scenario: "


@dataclass(frozen=True)
class Run:
    """One command of a suite."""

    name: str
    version: str
    arguments: tuple[str, ...]


RUNS: Final = (
    Run("released", RELEASED, ("--suite", "all")),
    Run("2025-06-18", NEWEST, ("--suite", "all", "--spec-version", "2025-06-18")),
    Run("2025-11-25", NEWEST, ("--requirements", "2025-11-25")),
    Run("2026-07-28", NEWEST, ("--requirements", "2026-07-28")),
)


@dataclass
class Outcome:
    """How many checks ended how, and what was said about those that did not pass."""

    checks: Counter[str] = field(default_factory=Counter[str])
    complaints: list[str] = field(default_factory=list[str])

    @property
    def is_green(self) -> bool:
        return not self.complaints and self.checks["SUCCESS"] > 0

    def add(self, other: "Outcome") -> None:
        self.checks += other.checks
        self.complaints += other.complaints

    def summary(self, seconds: float) -> str:
        counts = [f"{len(self.complaints)} failed"] if self.complaints else []
        counts.append(f"{self.checks['SUCCESS']} passed")
        if self.checks["SKIPPED"]:
            counts.append(f"{self.checks['SKIPPED']} skipped")
        return f" {', '.join(counts)} in {seconds:.1f}s "


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.run", description=__doc__)
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(run.name for run in RUNS)}")
    parser.add_argument("--url", help="a server that is already running, instead of one of our own")
    parser.add_argument("--scenario", help="only this one")
    chosen = parser.parse_args()
    if unknown := set(chosen.runs) - {run.name for run in RUNS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    wanted = [run for run in RUNS if not chosen.runs or run.name in chosen.runs]
    started, total = time.monotonic(), Outcome()
    with nullcontext() if chosen.url else serving() as server:
        for run in wanted:
            which = ("--scenario", chosen.scenario) if chosen.scenario else run.arguments
            total.add(run_suite(run, ["server", "--url", server.url if server else chosen.url, *which]))
        if server and not total.is_green:
            click.echo(f"--- server log\n{server.logged()}", err=True)
    for complaint in total.complaints:
        click.echo(f"FAILED {complaint}")
    click.secho(total.summary(time.monotonic() - started).center(_WIDTH, "="), fg="green" if total.is_green else "red")
    return 0 if total.is_green else 1


def run_suite(run: Run, arguments: Sequence[str]) -> Outcome:
    """Run one command of the suite, naming each scenario as it begins."""
    click.secho(f" {run.name} (suite {run.version}) ".center(_WIDTH, "-"))
    with tempfile.TemporaryDirectory(prefix="pentad-conformance-") as results:
        process = subprocess.Popen(
            [*command(run.version), *arguments, "-o", results],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert process.stdout is not None
        said = _follow(process.stdout)
        status = process.wait()
        outcome = _read(run.name, Path(results))
    if status and not outcome.complaints:
        outcome.complaints.append(f"{run.name}: the suite ended with {status}")
        click.echo("".join(said[-50:]))
    return outcome


def command(version: str) -> list[str]:
    """The command that starts the suite in this version."""
    folder = npm_folder(f"conformance/{version}", [f"{SUITE}@{version}"])
    return [node(folder), str(folder / "node_modules" / SUITE / "dist" / "index.js")]


def _follow(lines: Iterable[str]) -> list[str]:
    said: list[str] = []
    for line in lines:
        said.append(line)
        if line.startswith(_SCENARIO):
            click.echo(line.removeprefix(_SCENARIO).rstrip(" =\n"))
    return said


def _read(name: str, results: Path) -> Outcome:
    outcome = Outcome()
    for file in sorted(results.rglob("checks.json")):
        for check in json.loads(file.read_text(encoding="utf-8")):
            outcome.checks[check["status"]] += 1
            if check["status"] in ("FAILURE", "WARNING"):
                about = check.get("errorMessage", check["description"])
                outcome.complaints.append(f"{name} {file.parent.name}::{check['id']} - {about}")
    return outcome


if __name__ == "__main__":
    sys.exit(main())
