"""Confines the process that reads a document before it sees the first byte.

Limits on memory, processor time, wall time, open files and writing apply on every POSIX system. On Linux, the process
also cannot open sockets, start programs or other processes, or signal and inspect other processes.
"""

import ctypes
import errno
import math
import platform
import signal
import struct
import sys
from contextlib import suppress
from functools import cache
from typing import Final

from pentad.documents.protocol import Task

_MOST_FILES: Final = 64
_PARENT_DEATH_SIGNAL: Final = 1
_SECCOMP: Final = 22
_FILTER_MODE: Final = 2
_NO_NEW_PRIVILEGES: Final = 38

_CLONE: Final = {"x86_64": 56, "aarch64": 220}
_CLONE_3: Final = 435
_THREAD: Final = 0x10000
_X32: Final = 0x40000000
"""System call numbers from here on belong to another calling convention of x86-64."""
_ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_FORBIDDEN: Final = {
    # socket, connect, fork, vfork, execve, kill, ptrace, rt_sigqueueinfo, tkill, tgkill, rt_tgsigqueueinfo,
    # process_vm_readv, process_vm_writev, execveat
    "x86_64": (41, 42, 57, 58, 59, 62, 101, 129, 200, 234, 297, 310, 311, 322),
    # socket, connect, execve, kill, ptrace, rt_sigqueueinfo, tkill, tgkill, rt_tgsigqueueinfo,
    # process_vm_readv, process_vm_writev, execveat
    "aarch64": (198, 203, 221, 129, 117, 138, 130, 131, 240, 270, 271, 281),
}
_FORBIDDEN_EVERYWHERE: Final = (424, 425, 434, 438)
"""pidfd_send_signal, io_uring_setup (it opens sockets too), pidfd_open, pidfd_getfd."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000


def confine(task: Task) -> None:
    """Confine this process, as far as the operating system supports it. This cannot be undone."""
    if sys.platform == "win32":
        return
    signal.alarm(math.ceil(task.wall_seconds) + task.scan_seconds + 1)  # even if the parent no longer waits
    _limit_resources(task)
    if sys.platform == "linux":
        _forbid_system_calls()


def _limit_resources(task: Task) -> None:
    import resource

    for kind, most, reserve in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NOFILE, _MOST_FILES, 0),
        (resource.RLIMIT_CPU, task.cpu_seconds, task.scan_seconds),
        (resource.RLIMIT_AS, task.memory_bytes, task.scan_memory_bytes),
    ):
        _, hard = resource.getrlimit(kind)
        allowed = most + reserve if hard == resource.RLIM_INFINITY else min(most + reserve, hard)
        with suppress(OSError, ValueError):  # macOS defines this limit but refuses to set it
            resource.setrlimit(kind, (min(most, allowed), allowed))


def use_reserve() -> None:
    """Raise the limits of this process to what its task reserves for recognizing text."""
    if sys.platform == "win32":
        return
    import resource

    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        _, hard = resource.getrlimit(kind)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (hard, hard))


def _forbid_system_calls() -> None:
    """Install a seccomp filter; system calls that it refuses fail with EPERM."""
    call = ctypes.CDLL(None).prctl
    call(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if (program := filter_program(platform.machine())) is None:
        return
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    call(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call(_SECCOMP, _FILTER_MODE, ctypes.create_string_buffer(header, len(header)), 0, 0)


@cache
def filter_program(machine: str) -> bytes | None:
    """The filter for this processor architecture; None if unknown."""
    if machine not in _ARCHITECTURES:
        return None
    refused = _REFUSE | errno.EPERM
    steps = [
        (_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, refused),
        (_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, refused),
    ]  # fmt: skip
    for number in (*_FORBIDDEN[machine], *_FORBIDDEN_EVERYWHERE):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    # A filter cannot inspect the argument of clone3. Told that it does not exist, the C library uses clone for threads.
    steps += [(_EQUAL, 0, 1, _CLONE_3), (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)]
    steps += [(_EQUAL, 0, 3, _CLONE[machine]), (_LOAD, 0, 0, 16), (_ANY_BIT, 1, 0, _THREAD), (_RETURN, 0, 0, refused)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)
