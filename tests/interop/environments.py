"""Python environments of the foreign referees, made once under `.cache/interop/`.

The referees are never installed beside Pentad: what they bring must not become something Pentad leans on.
"""

import subprocess
import sys
import venv
from pathlib import Path

from tests.conformance.server import REPOSITORY

SDK = "mcp==2.3.0"
DIRECTORY_CLIENT = "agntcy-dir==1.0.0"


def sdk_python() -> Path:
    """An interpreter that has the official SDK and nothing of Pentad."""
    return _python_with(SDK)


def directory_python() -> Path:
    """An interpreter that has the directory's own client and nothing of Pentad."""
    return _python_with(DIRECTORY_CLIENT)


def _python_with(package: str) -> Path:
    folder = REPOSITORY / ".cache" / "interop" / package.replace("==", "-")
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == package):
        venv.create(folder, with_pip=True, clear=True, symlinks=True)
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([python, "-m", "pip", "install", *quiet, package], check=True, stdout=sys.stderr)
        stamp.write_text(package, encoding="utf-8")
    return python
