"""This machine: processor, load, memory, disks, network, processes, uptime. Works with no settings at all.

Reading takes a few milliseconds of system calls, so it happens in a thread. The share of the processor is that since
the previous look; a look that has none to compare with takes two, a tenth of a second apart.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.contract import Collector, Source, Upstream
from pentad.rooms.metrics.engine.keys import flat
from pentad.rooms.metrics.model import (
    Fact,
    Facts,
    Failed,
    Info,
    Metric,
    Plan,
    Problem,
    ProblemKind,
    Sample,
    Snapshot,
    Wanted,
    without_value,
)

PARTS: Final = ("cpu", "load", "memory", "swap", "disks", "io", "network", "processes", "system")


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


def _read(part: str) -> Any:
    from pentad.rooms.metrics.collectors.host_readings import read

    return read(part)


def _failed(part: str, kind: ProblemKind, message: str) -> Failed:
    return Failed(Problem(scope="", call=f"read {part}", kind=kind, message=message))


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

    def plan(self, wanted: Wanted, known: Facts) -> Plan:
        parts = {key.partition(".")[0] for key in wanted.keys} if wanted.keys is not None else PARTS
        facts = tuple(Fact(f"host.{part}") for part in PARTS if part in parts)
        return Plan(tuple(fact for fact in facts if fact not in known), calls=0)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        part = fact.name.removeprefix("host.")
        try:
            return await asyncio.to_thread(_read, part)
        except PermissionError:
            raise _failed(part, "permission", "This process may not read that.") from None
        except (OSError, RuntimeError, NotImplementedError, AttributeError):
            raise _failed(part, "unsupported", "This machine does not tell that.") from None

    def reduce(self, wanted: Wanted, facts: Facts) -> Snapshot:
        tree = {
            part: value for part in PARTS if (value := facts.value(Fact(f"host.{part}"))) is not None
        }  # fmt: skip
        if "system" in tree:
            tree["system"] = {"uptime": round(wanted.now - tree["system"]["bootedAt"], 1), **tree["system"]}
        units = {metric.key: metric.unit for metric in CATALOGUE}
        samples = [
            Sample(key=match.path, labels=match.labels, value=match.value, unit=units.get(match.path))
            for match in flat(tree)
        ]
        samples += without_value(CATALOGUE, wanted, facts)
        return Snapshot(collector=self.id, scope="", as_of=wanted.now, tree=tree, samples=samples)


def collectors(source: Source) -> Sequence[Collector]:
    return (Host(),)
