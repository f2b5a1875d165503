"""Pentad itself: its calls with their latencies and errors, its store, its search, its rooms, this process.

Call totals come from the store and cover all processes and restarts; reading them is not counted as a call. Everyone
with `metrics:read` sees these figures, so none of them reveals how much data others have: no table rows, no documents.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pentad import __version__
from pentad.access.call_totals import BOUNDS_US, CallTotal, read_totals
from pentad.kernel.ports import Rows
from pentad.platform import Platform
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream, plan_facts, tree_snapshot
from pentad.rooms.metrics.models import Fact, Facts, Info, Metric, Plan, Query, Snapshot

NO_ERROR: Final = frozenset({"ok", "input_required", "cancelled"})
FAULTS: Final = frozenset({"internal", "overloaded", "deadline_exceeded", "unavailable", "misconfigured", "-32603"})
"""Outcomes that are the server's fault, not the caller's."""
WINDOW: Final = 900.0
"""The error rate covers this many seconds."""
_PARTS: Final = ("calls", "tools", "rooms", "store", "search", "process")


def _metric(key: str, description: str, unit: str | None = None, **more: Any) -> Metric:
    part = key.partition(".")[0]
    fact = "calls" if part == "tools" else part
    return Metric(key=key, description=description, unit=unit, facts=(f"pentad.{fact}",), **more)


_QUANTILE: Final = "read from the histogram of all calls, evenly within a bucket"

CATALOGUE: Final = (
    _metric("calls.total", "Calls answered by all processes since the store was created.", kind="counter"),
    _metric("calls.errors", "Calls that ended with an error, callers' mistakes included.", kind="counter"),
    _metric("calls.faults", "Calls that failed through the server's fault.", kind="counter", better="lower"),
    _metric(
        "calls.errorPercent", "Share of calls that ended with an error of the server, in the last 15 minutes.", "%",
        formula="faults / calls x 100, of the last 15 minutes", better="lower", warn=10, alarm=50,
    ),
    _metric("calls.mean", "Mean time of a call.", "ms", formula="sum of times / total", better="lower"),
    _metric("calls.p50", "Half of all calls are faster.", "ms", formula=_QUANTILE, better="lower"),
    _metric("calls.p95", "95 % of calls are faster.", "ms", formula=_QUANTILE, better="lower"),
    _metric("calls.p99", "99 % of calls are faster.", "ms", formula=_QUANTILE, better="lower"),
    _metric("tools.calls", "Calls of one tool or method.", labels=("id",), kind="counter"),
    _metric("tools.errors", "Its calls that ended with an error.", labels=("id",), kind="counter", better="lower"),
    _metric("tools.mean", "Its mean time.", "ms", labels=("id",), better="lower"),
    _metric("tools.p50", "Half of its calls are faster.", "ms", labels=("id",), formula=_QUANTILE, better="lower"),
    _metric("tools.p95", "95 % of its calls are faster.", "ms", labels=("id",), formula=_QUANTILE, better="lower"),
    _metric("tools.p99", "99 % of its calls are faster.", "ms", labels=("id",), formula=_QUANTILE, better="lower"),
    _metric("rooms.figure", "A figure that a room reports.", labels=("id",)),
    _metric("store.bytes", "Size of the store.", "By", better="lower"),
    _metric("store.queued", "Units of work waiting for the store.", better="lower", warn=1_000, alarm=5_000),
    _metric("store.dialect", "SQLite or PostgreSQL.", kind="text"),
    _metric("search.pending", "Documents waiting for vectors.", better="lower", warn=50_000),
    _metric("process.memory", "Memory of this process.", "By", better="lower"),
    _metric("process.cpuSeconds", "Processor time of this process.", "s", kind="counter"),
    _metric("process.threads", "Threads of this process."),
    _metric("process.files", "Open files and sockets of this process."),
    _metric("process.uptime", "Time since this process started.", "s"),
    _metric("process.version", "Version of Pentad.", kind="text"),
)  # fmt: skip


def quantile(buckets: Sequence[int], share: float) -> float | None:
    """The quantile of call times in milliseconds; None without calls, at most the last bound."""
    total = sum(buckets)
    if not total:
        return None
    target, seen, lower = share * total, 0, 0
    for bound, count in zip(BOUNDS_US, buckets, strict=False):
        if count and seen + count >= target:
            return round((lower + (bound - lower) * (target - seen) / count) / 1000, 3)
        seen += count
        lower = bound
    return BOUNDS_US[-1] / 1000


def _sum_totals(totals: Sequence[CallTotal]) -> dict[str, Any]:
    calls = sum(total.calls for total in totals)
    buckets = [sum(column) for column in zip(*(total.buckets for total in totals), strict=True)]
    seconds = sum(total.seconds for total in totals)
    return {
        "calls": calls,
        "errors": sum(total.calls for total in totals if total.outcome not in NO_ERROR),
        "mean": round(1000 * seconds / calls, 3) if calls else None,
        "p50": quantile(buckets, 0.50),
        "p95": quantile(buckets, 0.95),
        "p99": quantile(buckets, 0.99),
    }


def _calls(rows: Rows) -> dict[str, Any]:
    totals = read_totals(rows)
    by_tool: dict[str, list[CallTotal]] = {}
    for total in totals:
        by_tool.setdefault(f"{total.room}.{total.tool}".lstrip("."), []).append(total)
    whole = _sum_totals(totals)
    count = whole.pop("calls")
    faults = sum(total.calls for total in totals if total.outcome in FAULTS)
    tools: list[dict[str, Any]] = [{"id": name, **_sum_totals(some)} for name, some in by_tool.items()]
    return {
        "calls": {"total": count, "faults": faults, **whole},
        "tools": sorted(tools, key=lambda tool: (-tool["calls"], tool["id"])),
    }


_BYTES: Final = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgres": "SELECT pg_database_size(current_database())",
}


class Pentad:
    """This server's own figures."""

    id = "pentad"
    title = "Pentad"
    aliases = ("self", "own")

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._readings: deque[tuple[float, int, int]] = deque()
        """When totals were read, and the calls and faults until then."""

    def error_percent(self, calls: int, faults: int) -> float | None:
        """The share of faults since the reading of 15 minutes ago; None without calls since then."""
        now, readings = self._platform.clock.monotonic(), self._readings
        readings.append((now, calls, faults))
        while len(readings) > 1 and readings[1][0] <= now - WINDOW:
            readings.popleft()
        _, calls_then, faults_then = readings[0]
        return round(100 * (faults - faults_then) / (calls - calls_then), 3) if calls > calls_then else None

    def info(self) -> Info:
        return Info(
            id=self.id, title=self.title, description="Own calls, latencies and errors; store, search and rooms.",
            takes=frozenset(), catalogue=CATALOGUE, ttl=2.0, ttls={"pentad.rooms": 15.0},
            poll_seconds=60.0,
        )  # fmt: skip

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(CATALOGUE, query, known, is_local=True)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        database = self._platform.database
        match fact.name.removeprefix("pentad."):
            case "calls":
                found = await database.read(_calls)
                calls = found["calls"]
                calls["errorPercent"] = self.error_percent(calls["total"], calls["faults"])
                return found
            case "rooms":
                return _figures(await self._platform.health())
            case "store":
                size = await database.read(lambda rows: rows.value(_BYTES[database.dialect]))
                return {"bytes": size, "queued": getattr(database, "queued", 0), "dialect": database.dialect}
            case "search":
                return await database.read(_search)
            case _:
                return await asyncio.to_thread(_process)

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        calls: dict[str, Any] = facts.value(Fact("pentad.calls")) or {}
        parts: dict[str, Any] = {
            **calls,
            **{part: facts.value(Fact(f"pentad.{part}")) for part in _PARTS if part not in calls},
        }
        tree = {part: parts[part] for part in _PARTS if parts.get(part) is not None}
        return tree_snapshot(self.id, CATALOGUE, query, facts, tree)


def _search(rows: Rows) -> dict[str, Any]:
    return {"pending": rows.value("SELECT count(*) FROM search_pending")}


def _figures(health: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": f"{room}.{name}", "figure": value}
        for room, figures in sorted(health.items())
        for name, value in figures.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]


def _process() -> dict[str, Any]:
    import psutil

    process = psutil.Process()
    with process.oneshot():
        times = process.cpu_times()
        return {
            "memory": process.memory_info().rss,
            "cpuSeconds": round(times.user + times.system, 2),
            "threads": process.num_threads(),
            "files": process.num_fds() if hasattr(process, "num_fds") else None,
            "uptime": round(time.time() - process.create_time(), 1),
            "version": __version__,
        }


def collectors(source: CollectorContext) -> Sequence[Collector]:
    return (Pentad(source.platform),)
