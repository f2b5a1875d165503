"""Reads this machine's figures with psutil. Blocks for milliseconds: call it in a thread.

A module of its own, so that psutil is loaded only when it is needed.
"""

import platform as machine
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

PSEUDO: Final = frozenset({"squashfs", "tmpfs", "devtmpfs", "overlay", "proc", "sysfs", "devfs", "iso9660"})
TOP_PROCESSES: Final = 5
SAMPLE_SECONDS: Final = 0.1


class _CpuUsage:
    """CPU usage between two readings. psutil remembers readings per thread, but threads change here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: tuple[float, float, float] | None = None

    def percent(self) -> float | None:
        """The share; None if the machine counted no time."""
        with self._lock:
            before = self._seen
            if before is None or time.monotonic() - before[0] < SAMPLE_SECONDS:
                before = before or self._read_times()
                time.sleep(SAMPLE_SECONDS)
            now = self._seen = self._read_times()
        spent = now[1] - before[1]
        return round(100 * (now[2] - before[2]) / spent, 1) if spent > 0 else None

    @staticmethod
    def _read_times() -> tuple[float, float, float]:
        """The time, the total processor time so far, and the busy part of it."""
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        counted = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        return time.monotonic(), counted, counted - idle


_CPU_USAGE: Final = _CpuUsage()


def _cpu() -> dict[str, Any]:
    times = psutil.cpu_times()
    frequency = _or_none(psutil.cpu_freq)
    return {
        "percent": _CPU_USAGE.percent(),
        "cores": psutil.cpu_count() or 1,
        "physicalCores": psutil.cpu_count(logical=False),
        "frequency": round(frequency.current, 1) if frequency is not None else None,
        "userSeconds": round(times.user, 2),
        "systemSeconds": round(times.system, 2),
        "idleSeconds": round(times.idle, 2),
    }


def _load() -> dict[str, Any]:
    one, five, fifteen = psutil.getloadavg()
    cores = psutil.cpu_count() or 1
    return {
        "one": round(one, 2), "five": round(five, 2), "fifteen": round(fifteen, 2), "perCore": round(one / cores, 3)
    }  # fmt: skip


def _memory() -> dict[str, Any]:
    memory = psutil.virtual_memory()
    return {
        "total": memory.total, "available": memory.available, "used": memory.used, "percent": memory.percent
    }  # fmt: skip


def _swap() -> dict[str, Any]:
    swap = psutil.swap_memory()
    return {"total": swap.total, "used": swap.used, "percent": swap.percent}


def _disks() -> list[dict[str, Any]]:
    """Each device once, at its shortest mount point; and the file system of the working directory."""
    places: dict[str, str] = {}
    for part in psutil.disk_partitions(all=False):
        if part.fstype and part.fstype not in PSEUDO and len(part.mountpoint) < len(places.get(part.device, "x" * 999)):
            places[part.device] = part.mountpoint
    found: list[dict[str, Any]] = []
    for place in sorted({*places.values(), Path.cwd().anchor}):
        try:
            usage = psutil.disk_usage(place)
        except OSError:
            continue
        found.append(
            {"id": place, "total": usage.total, "used": usage.used, "free": usage.free, "percent": usage.percent}
        )
    return found


def _io() -> dict[str, Any] | None:
    counters = _or_none(psutil.disk_io_counters)
    if counters is None:
        return None
    return {
        "readBytes": counters.read_bytes, "writtenBytes": counters.write_bytes,
        "reads": counters.read_count, "writes": counters.write_count,
    }  # fmt: skip


def _network() -> dict[str, Any]:
    counters = psutil.net_io_counters()
    return {
        "sentBytes": counters.bytes_sent,
        "receivedBytes": counters.bytes_recv,
        "errors": counters.errin + counters.errout,
        "dropped": counters.dropin + counters.dropout,
    }


def _processes() -> dict[str, Any]:
    total, running, zombies = 0, 0, 0
    sizes: list[tuple[int, str]] = []
    for process in psutil.process_iter(["pid", "name", "status", "memory_info"]):
        info = process.info
        total += 1
        running += info["status"] == psutil.STATUS_RUNNING
        zombies += info["status"] == psutil.STATUS_ZOMBIE
        if info["memory_info"] is not None:
            sizes.append((info["memory_info"].rss, f"{info['name']} ({info['pid']})"))
    top = [{"id": name, "memory": size} for size, name in sorted(sizes, reverse=True)[:TOP_PROCESSES]]
    return {"total": total, "running": running, "zombies": zombies, "top": top}


def _system() -> dict[str, Any]:
    booted = psutil.boot_time()
    return {"bootedAt": booted, "os": f"{machine.system()} {machine.release()}", "python": machine.python_version()}


def _or_none(read: Callable[[], Any]) -> Any:
    """A value that not every machine has."""
    try:
        return read()
    except (OSError, RuntimeError, NotImplementedError, AttributeError, psutil.Error):
        return None


READERS: Final[dict[str, Callable[[], Any]]] = {
    "cpu": _cpu, "load": _load, "memory": _memory, "swap": _swap, "disks": _disks, "io": _io,
    "network": _network, "processes": _processes, "system": _system,
}  # fmt: skip


def read(part: str) -> Any:
    """Read one part; raises PermissionError if this process may not."""
    try:
        return READERS[part]()
    except psutil.AccessDenied:
        raise PermissionError(part) from None
