"""Which process this is, so that another one on the same machine sees at once that it has ended."""

import os
from functools import lru_cache
from pathlib import Path
from uuid import getnode

import msgspec

from pentad.kernel.ids import opaque_id


class ProcessIdentity(msgspec.Struct, frozen=True):
    """`place` is where process ids mean the same: one boot of one machine, or of one container."""

    place: str
    pid: int
    token: str
    """Tells it from an earlier process with the same id, as a container that restarts has it."""

    def has_ended(self) -> bool:
        """Whether the process has certainly ended. False for a process of another place."""
        if self.place != this_process().place:
            return False
        if self.pid == os.getpid():
            return self.token != this_process().token
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:  # it belongs to another user
            return False
        return False


def this_process() -> ProcessIdentity:
    return ProcessIdentity(_place(), os.getpid(), _token(os.getpid()))


@lru_cache(maxsize=1)
def _token(_pid: int) -> str:
    return opaque_id(size=8)


@lru_cache(maxsize=1)
def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:  # not Linux
        return f"{getnode():x}"
