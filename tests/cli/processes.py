"""Running the real command in a child process, the way a user's shell does."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pentad

SOURCE = Path(pentad.__file__).parents[1]
COMMAND = (sys.executable, "-m", "pentad.cli.main")
PATIENCE = 60.0
"""Seconds a wait is bounded by; no test expects to use them."""


def child_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without the user's own settings, whose home is a folder of the test."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "PYTHONPATH": str(SOURCE), **more}


def run(
    *args: str, home: Path, stdin: str = "", cwd: Path | None = None, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [*COMMAND, *args],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd or home,
        env=child_environment(home, **(environ or {})),
        timeout=PATIENCE,
        check=False,
    )
