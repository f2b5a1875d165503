"""A folder that is filled once, even if several test processes ask for it at the same time."""

import fcntl
from collections.abc import Callable
from pathlib import Path


def installed_once(folder: Path, wanted: str, install: Callable[[], object]) -> None:
    """Run `install` unless this folder is already filled."""
    stamp = folder / "installed.txt"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
            install()
            stamp.write_text(wanted, encoding="utf-8")
