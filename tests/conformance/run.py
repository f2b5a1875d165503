"""Run the official conformance suite against Pentad: `python -m tests.conformance.run [--scenario NAME]`.

Ends with 0 only if every check of every scenario passed, without a warning.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from tests.conformance.node import node, npm_folder
from tests.conformance.server import serving

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.1.16"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.run", description=__doc__)
    parser.add_argument("--scenario", help="only this one")
    parser.add_argument("--url", help="a server that is already running, instead of one of our own")
    chosen = parser.parse_args()
    if chosen.url:
        return run_suite(chosen.url, chosen.scenario)
    with serving() as server:
        status = run_suite(server.url, chosen.scenario)
        if status:
            click.echo(f"--- server log\n{server.logged()}", err=True)
        return status


def run_suite(url: str, scenario: str | None) -> int:
    folder = npm_folder("conformance", [f"{SUITE}@{VERSION}"])
    which = ["--scenario", scenario] if scenario else ["--suite", "all"]
    with tempfile.TemporaryDirectory(prefix="pentad-conformance-") as results:
        suite = folder / "node_modules" / SUITE / "dist" / "index.js"
        command = [node(folder), str(suite), "server", "--url", url, *which, "-o", results]
        finished = subprocess.run(command, cwd=folder, check=False)
        tally = _tally(Path(results))
    click.echo(f"Pentad: {', '.join(f'{count} {status.lower()}' for status, count in sorted(tally.items()))}")
    return int(finished.returncode != 0 or bool(tally["FAILURE"] or tally["WARNING"]) or not tally["SUCCESS"])


def _tally(results: Path) -> Counter[str]:
    """How many checks ended how, over all scenarios; each that did not pass is shown."""
    found: Counter[str] = Counter()
    for file in sorted(results.rglob("checks.json")):
        for check in json.loads(file.read_text(encoding="utf-8")):
            found[check["status"]] += 1
            if check["status"] in ("FAILURE", "WARNING"):
                click.echo(f"{check['status']} {file.parent.name} {check['id']}: {check.get('errorMessage', '')}")
    return found


if __name__ == "__main__":
    sys.exit(main())
