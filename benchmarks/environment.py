"""What the benchmarks need on this machine, set up by themselves: the load generator, and the rival's own environment.

The rival lives apart from Pentad's environment, because its dependencies must never be able to change what is measured.
Progress goes to stderr; stdout carries the results.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache" / "bench"
PENTAD: Final = Path(sys.executable).with_name("pentad")
RIVAL: Final = "mcp 2.3.0"
_RIVAL_PACKAGES: Final = ("mcp==2.3.0", "uvicorn", "httptools", "uvloop", "msgspec")


def say(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)


def load_generator() -> str:
    """The path of `wrk`, installed if this user may do that; a client in Python would be slower than the server."""
    if (found := shutil.which("wrk")) is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SystemExit("The benchmarks need `wrk`. Install it (Debian, Ubuntu: apt-get install wrk) and run again.")
    say("Installing wrk ...")
    for step in (["update", "-qq"], ["install", "-y", "-qq", "wrk"]):
        _run(["apt-get", *step])
    return shutil.which("wrk") or "wrk"


def rival_python() -> Path:
    """The interpreter that has the official SDK."""
    return python_with("mcp", _RIVAL_PACKAGES)


def python_with(name: str, packages: Sequence[str]) -> Path:
    """The interpreter that has these packages, in an environment made on first use."""
    home = CACHE / name
    python = home / "bin" / "python"
    made = home / ".made"
    wanted = "\n".join(packages)
    if made.exists() and made.read_text(encoding="utf-8") == wanted:
        return python
    say(f"Installing {packages[0]} into {home.relative_to(ROOT)} ...")
    _run([sys.executable, "-m", "venv", "--clear", home])
    _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    made.write_text(wanted, encoding="utf-8")
    return python


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise SystemExit(f"The benchmarks could not be set up; `{' '.join(map(str, command))}` said:\n{said}")
