"""This machine: processor, load, memory, disks, network, processes, uptime. Works with no settings at all.

Reading takes a few milliseconds of system calls, so it happens in a thread. The share of the processor is that since
the previous look; a look that has none to compare with takes two, a tenth of a second apart.
"""

import asyncio
import platform as machine
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from pentad.rooms.metrics.collectors.contract import Collector, Source, Upstream
from pentad.rooms.metrics.engine.keys import flat
from pentad.rooms.metrics.model import Fact, Facts, Info, Metric, Plan, Sample, Snapshot, Wanted

PSEUDO: Final = frozenset({"squashfs", "tmpfs", "devtmpfs", "overlay", "proc", "sysfs", "devfs", "iso9660"})
TOP_PROCESSES: Final = 5

LOOK_SECONDS: Final = 0.1


def _metric(key: str, description: str, unit: str | None = None, **more: Any) -> Metric:
    return Metric(key=key, description=description, unit=unit, facts=(f"host.{key.partition('.')[0]}",), **more)


CATALOGUE: Final = (
    _metric("cpu.percent", "Share of the processor that is busy.", "%", better="lower", warn=85, alarm=95),
    _metric("cpu.cores", "Logical processors."),
    _metric("cpu.physicalCores", "Physical cores."),
    _metric("cpu.frequency", "Present clock rate.", "MHz"),
    _metric("cpu.userSeconds", "Time spent in programs, over all processors.", "s", kind="counter"),
    _metric("cpu.systemSeconds", "Time spent in the kernel, over all processors.", "s", kind="counter"),
    _metric("cpu.idleSeconds", "Time spent idle, over all processors.", "s", kind="counter"),
    _metric("load.one", "Processes that ran or waited, over one minute."),
    _metric("load.five", "Processes that ran or waited, over five minutes."),
    _metric("load.fifteen", "Processes that ran or waited, over fifteen minutes."),
    _metric(
        "load.perCore", "Load of one minute for each processor.", formula="load.one / cpu.cores",
        better="lower", warn=2, alarm=4,
    ),
    _metric("memory.total", "Memory there is.", "By"),
    _metric("memory.available", "Memory that can be had without swapping.", "By", better="higher"),
    _metric("memory.used", "Memory in use.", "By", better="lower"),
    _metric(
        "memory.percent", "Share of the memory that is not available.", "%",
        formula="(total - available) / total x 100", better="lower", warn=85, alarm=95,
    ),
    _metric("swap.total", "Swap space there is.", "By"),
    _metric("swap.used", "Swap space in use.", "By", better="lower"),
    _metric("swap.percent", "Share of the swap space in use.", "%", better="lower", warn=60, alarm=90),
    _metric("disks.total", "Size of a file system.", "By", labels=("id",)),
    _metric("disks.used", "Space in use on a file system.", "By", labels=("id",), better="lower", limit="disks.total"),
    _metric("disks.free", "Space left on a file system for its users.", "By", labels=("id",), better="higher"),
    _metric(
        "disks.percent", "Share of a file system in use.", "%", labels=("id",), formula="used / (used + free) x 100",
        better="lower",
    ),
    _metric("io.readBytes", "Bytes read from disks.", "By", kind="counter"),
    _metric("io.writtenBytes", "Bytes written to disks.", "By", kind="counter"),
    _metric("io.reads", "Reads from disks.", kind="counter"),
    _metric("io.writes", "Writes to disks.", kind="counter"),
    _metric("network.sentBytes", "Bytes sent.", "By", kind="counter"),
    _metric("network.receivedBytes", "Bytes received.", "By", kind="counter"),
    _metric("network.errors", "Packets in error, both ways.", kind="counter", better="lower"),
    _metric("network.dropped", "Packets dropped, both ways.", kind="counter", better="lower"),
    _metric("processes.total", "Processes there are."),
    _metric("processes.running", "Processes that run at this moment."),
    _metric("processes.zombies", "Processes that ended and were not collected.", better="lower", warn=50),
    _metric("processes.top.memory", "The largest processes, by memory of their own.", "By", labels=("id",), kept=False),
    _metric("system.uptime", "Time since the machine started.", "s"),
    _metric("system.bootedAt", "When the machine started, in seconds since 1970.", "s"),
    _metric("system.os", "Operating system.", kind="text"),
    _metric("system.python", "Version of Python.", kind="text"),
)  # fmt: skip


class _Busy:
    """How busy the processor was between two looks; psutil remembers looks by thread, and threads change here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: tuple[float, float, float] | None = None

    def percent(self) -> float:
        with self._lock:
            before = self._seen
            if before is None or time.monotonic() - before[0] < LOOK_SECONDS:
                before = before or self._look()
                time.sleep(LOOK_SECONDS)
            now = self._seen = self._look()
        spent = now[1] - before[1]
        return round(100 * (now[2] - before[2]) / spent, 1) if spent > 0 else 0.0

    @staticmethod
    def _look() -> tuple[float, float, float]:
        """When, all time of all processors so far, and what of it was busy."""
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        counted = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        return time.monotonic(), counted, counted - idle


_BUSY: Final = _Busy()


def _cpu() -> dict[str, Any]:
    times = psutil.cpu_times()
    frequency = _or_none(psutil.cpu_freq)
    return {
        "percent": _BUSY.percent(),
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
    """Each device once, at the shortest of the places it is mounted; and what this program itself is on."""
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
        said = process.info
        total += 1
        running += said["status"] == psutil.STATUS_RUNNING
        zombies += said["status"] == psutil.STATUS_ZOMBIE
        if said["memory_info"] is not None:
            sizes.append((said["memory_info"].rss, f"{said['name']} ({said['pid']})"))
    top = [{"id": name, "memory": size} for size, name in sorted(sizes, reverse=True)[:TOP_PROCESSES]]
    return {"total": total, "running": running, "zombies": zombies, "top": top}


def _system() -> dict[str, Any]:
    booted = psutil.boot_time()
    return {"bootedAt": booted, "os": f"{machine.system()} {machine.release()}", "python": machine.python_version()}


def _or_none(read: Callable[[], Any]) -> Any:
    """What not every machine has."""
    try:
        return read()
    except (OSError, RuntimeError, NotImplementedError, AttributeError):
        return None


READERS: Final[dict[str, Callable[[], Any]]] = {
    "cpu": _cpu, "load": _load, "memory": _memory, "swap": _swap, "disks": _disks, "io": _io,
    "network": _network, "processes": _processes, "system": _system,
}  # fmt: skip


class Host:
    """The machine Pentad runs on."""

    id = "host"
    title = "This machine"
    aliases = ("machine", "system", "localhost")

    def info(self) -> Info:
        return Info(
            id=self.id, title=self.title, description="Processor, load, memory, disks, network and processes.",
            catalogue=CATALOGUE, ttl=1.0, poll_seconds=60.0,
        )  # fmt: skip

    def plan(self, wanted: Wanted, known: Facts) -> Plan:
        parts = {key.partition(".")[0] for key in wanted.keys} if wanted.keys is not None else READERS.keys()
        facts = tuple(Fact(f"host.{part}") for part in READERS if part in parts)
        return Plan(tuple(fact for fact in facts if fact not in known), calls=0)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        return await asyncio.to_thread(READERS[fact.name.removeprefix("host.")])

    def reduce(self, wanted: Wanted, facts: Facts) -> Snapshot:
        tree = {
            part: value for part in READERS if (value := facts.value(Fact(f"host.{part}"))) is not None
        }  # fmt: skip
        if "system" in tree:
            tree["system"] = {"uptime": round(wanted.now - tree["system"]["bootedAt"], 1), **tree["system"]}
        units = {metric.key: metric.unit for metric in CATALOGUE}
        samples = [
            Sample(key=match.path, labels=match.labels, value=match.value, unit=units.get(match.path))
            for match in flat(tree)
        ]
        return Snapshot(collector=self.id, scope="", as_of=wanted.now, tree=tree, samples=samples)


def collectors(source: Source) -> Sequence[Collector]:
    return (Host(),)
