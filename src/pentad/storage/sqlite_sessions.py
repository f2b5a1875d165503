"""Tracks which processes have a SQLite file open. All of them run on one machine, so the operating system knows which
have ended."""

import os
from functools import lru_cache
from pathlib import Path
from uuid import getnode

from pentad.kernel.ids import opaque_id

_open: set[str] = set()
"""The sessions of this process."""


def begin_session() -> str:
    """A name for one open store: the namespace of process ids, the process id, and a token.

    The token distinguishes it from an earlier process with the same id, as in a restarted container.
    """
    session = f"{_place()} {os.getpid()} {opaque_id(size=8)}"
    _open.add(session)
    return session


def end_session(session: str) -> None:
    _open.discard(session)


def has_ended(session: str) -> bool:
    """Whether it has certainly ended. False for a process of another container."""
    place, _, rest = session.partition(" ")
    pid = rest.partition(" ")[0]
    if place != _place() or not pid.isdecimal():
        return False
    if int(pid) == os.getpid():
        return session not in _open
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to another user
        return False
    return False


@lru_cache(maxsize=1)
def _place() -> str:
    """Identifies one boot of one machine or container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux
        return f"{getnode():x}"
