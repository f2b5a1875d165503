"""This machine: processor, load, memory, disks, network, processes, uptime. Works with no settings at all.

Reading takes a few milliseconds of system calls, so it happens in a thread. The processor share is measured since the
previous reading; the first reading takes two samples, a tenth of a second apart.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream, plan_facts, tree_snapshot
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    FetchError,
    Info,
    Metric,
    Plan,
    Query,
    Snapshot,
)

PARTS: Final = ("cpu", "load", "memory", "swap", "disks", "io", "network", "processes", "system")


def _metric(key: str, description: str, unit: str | None = None, **more: Any) -> Metric:
    return Metric(key=key, description=description, unit=unit, facts=(f"host.{key.partition('.')[0]}",), **more)


CATALOGUE: Final = (
    _metric("cpu.percent", "Processor usage.", "%", better="lower", warn=85, alarm=95),
    _metric("cpu.cores", "Logical processors."),
    _metric("cpu.physicalCores", "Physical cores."),
    _metric("cpu.frequency", "Current clock rate.", "MHz"),
    _metric("cpu.userSeconds", "Time spent in programs, over all processors.", "s", kind="counter"),
    _metric("cpu.systemSeconds", "Time spent in the kernel, over all processors.", "s", kind="counter"),
    _metric("cpu.idleSeconds", "Time spent idle, over all processors.", "s", kind="counter"),
    _metric("load.one", "Load average over one minute."),
    _metric("load.five", "Load average over five minutes."),
    _metric("load.fifteen", "Load average over fifteen minutes."),
    _metric(
        "load.perCore", "One-minute load per processor.", formula="load.one / cpu.cores",
        better="lower", warn=2, alarm=4,
    ),
    _metric("memory.total", "Total memory.", "By"),
    _metric("memory.available", "Memory available without swapping.", "By", better="higher"),
    _metric("memory.used", "Memory in use.", "By", better="lower"),
    _metric(
        "memory.percent", "Share of memory that is not available.", "%",
        formula="(total - available) / total x 100", better="lower", warn=85, alarm=95,
    ),
    _metric("swap.total", "Total swap space.", "By"),
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
    _metric("network.errors", "Packet errors, both directions.", kind="counter", better="lower"),
    _metric("network.dropped", "Dropped packets, both directions.", kind="counter", better="lower"),
    _metric("processes.total", "Number of processes."),
    _metric("processes.running", "Running processes."),
    _metric("processes.zombies", "Zombie processes.", better="lower", warn=50),
    _metric("processes.top.memory", "The processes that use the most memory.", "By", labels=("id",), kept=False),
    _metric("system.uptime", "Time since the machine started.", "s"),
    _metric("system.bootedAt", "When the machine started, in seconds since 1970.", "s"),
    _metric("system.os", "Operating system.", kind="text"),
    _metric("system.python", "Version of Python.", kind="text"),
)  # fmt: skip


def _read(part: str) -> Any:
    from pentad.rooms.metrics.collectors.host_readings import read

    return read(part)


class Host:
    """The machine Pentad runs on."""

    id = "host"
    title = "This machine"
    aliases = ("machine", "system", "localhost")

    def info(self) -> Info:
        return Info(
            id=self.id, title=self.title, description="Processor, load, memory, disks, network and processes.",
            takes=frozenset(), catalogue=CATALOGUE, ttl=1.0, poll_seconds=60.0,
        )  # fmt: skip

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(CATALOGUE, query, known, is_local=True)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        part = fact.name.removeprefix("host.")
        try:
            return await asyncio.to_thread(_read, part)
        except PermissionError:
            raise FetchError.of("permission", "This process may not read that.", call=f"read {part}") from None
        except (OSError, RuntimeError, NotImplementedError, AttributeError):
            raise FetchError.of("unsupported", "This machine does not provide that.", call=f"read {part}") from None

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        tree = {part: value for part in PARTS if (value := facts.value(Fact(f"host.{part}"))) is not None}
        if "system" in tree:
            tree["system"] = {"uptime": round(query.now - tree["system"]["bootedAt"], 1), **tree["system"]}
        return tree_snapshot(self.id, CATALOGUE, query, facts, tree)


def collectors(source: CollectorContext) -> Sequence[Collector]:
    return (Host(),)
