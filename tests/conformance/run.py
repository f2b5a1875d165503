"""Run the official conformance suites against Pentad: `python -m tests.conformance.run [RUN ...]`.

The released suite, the newest one with the frozen requirements of each revision, and the newest one's questions to an
authorization server. Scenarios that a revision does not score count here like the others. Ends with 0 only if every
check passed, without a warning.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from tests.conformance.node import node, npm_folder
from tests.conformance.server import password_of, serving
from tests.form_browser import FormBrowser
from tests.oauth_client import register
from tests.ports import free_port

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
AUTHORIZATION: Final = Run("authorization", NEWEST, ())
_NAMES: Final = (*(run.name for run in RUNS), AUTHORIZATION.name)


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
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"of {', '.join(_NAMES)}")
    parser.add_argument("--url", help="a server that is already running, instead of one of our own")
    parser.add_argument("--scenario", help="only this one")
    chosen = parser.parse_args()
    if unknown := set(chosen.runs) - set(_NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    names = chosen.runs or _NAMES
    started, total = time.monotonic(), Outcome()
    if runs := [run for run in RUNS if run.name in names]:
        total.add(_server_runs(runs, chosen.url, chosen.scenario))
    if AUTHORIZATION.name in names and not (chosen.url or chosen.scenario):
        total.add(_authorization_run())
    for complaint in total.complaints:
        click.echo(f"FAILED {complaint}")
    click.secho(total.summary(time.monotonic() - started).center(_WIDTH, "="), fg="green" if total.is_green else "red")
    return 0 if total.is_green else 1


def _server_runs(runs: Sequence[Run], url: str | None, scenario: str | None) -> Outcome:
    outcome = Outcome()
    with nullcontext() if url else serving() as server:
        for run in runs:
            which = ("--scenario", scenario) if scenario else run.arguments
            outcome.add(run_suite(run, ["server", "--url", server.url if server else url or "", *which]))
        if server and not outcome.is_green:
            click.echo(f"--- server log\n{server.logged()}", err=True)
    return outcome


def _authorization_run() -> Outcome:
    """The suite is a client that prints where to log in, and waits for the redirect."""
    port, name = free_port(), "ada"
    with serving(users={name: "writer"}) as server:
        client_id = register(server.site, f"http://127.0.0.1:{port}/callback")
        command = ["authorization", "--url", server.site, "--client-id", client_id, "--port", str(port)]

        def follow(line: str) -> None:
            if line.startswith(server.site):
                landed = FormBrowser().approve(line.strip(), name, password_of(name))
                FormBrowser().open(landed)

        outcome = run_suite(AUTHORIZATION, [*command, "--resource", server.url], follow)
        if not outcome.is_green:
            click.echo(f"--- server log\n{server.logged()}", err=True)
        return outcome


def run_suite(run: Run, arguments: Sequence[str], follow: Callable[[str], None] | None = None) -> Outcome:
    """Run one command of the suite, naming each scenario as it begins. `follow` sees every line it prints."""
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
        try:
            said = _hear(process.stdout, follow)
        except BaseException:
            process.kill()
            raise
        finally:
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


def _hear(lines: Iterable[str], follow: Callable[[str], None] | None) -> list[str]:
    said: list[str] = []
    for line in lines:
        said.append(line)
        if follow is not None:
            follow(line)
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
