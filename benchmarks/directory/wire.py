"""Measures pushing, pulling and searching: over gRPC, beside a server that only keeps a dictionary, and over MCP.

The client sends and receives prepared bytes, so it costs little, and the same for both servers. The rival gets a share
of the records: it has no index that could grow, and all of them would take minutes. Servers take turns in rounds,
medians are shown, and every answer is counted.
"""

import asyncio
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, Final, cast

import grpc.aio

from benchmarks.directory.asking import ASKED, Asking, pushing
from benchmarks.directory.workload import complete
from benchmarks.effort import Effort
from benchmarks.environment import PENTAD, ROOT, python_with, say
from benchmarks.process import Server, free_port, serving
from benchmarks.table import Figure, Goal
from pentad.kernel.cid import canonical_json
from pentad.rooms.directory.wire.structs import encoded_record

RIVAL: Final = "a dictionary over gRPC"
_PACKAGES: Final = ("grpcio==1.85.*", "protobuf==7.36.*")
_SERVER: Final = ROOT / "benchmarks" / "rivals" / "record_server.py"
_UNLIMITED: Final = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0"}
_STORE: Final = "/agntcy.dir.store.v1.StoreService/"
_SHARE: Final = 10
"""The rival gets one record for this many of Pentad's."""
_PULLED: Final = 5
"""One of this many pushed records is pulled from Pentad."""
_OVER_MCP: Final = 50
_TURNS: Final = 40
_READY_SECONDS: Final = 30.0


@dataclass(slots=True)
class Lane:
    """A server and its measurements by method: records per second, and microseconds of CPU per record."""

    server: Server
    port: int
    refs: list[bytes] = field(default_factory=list[bytes])
    speeds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    cpu: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def push(self, numbers: Sequence[int]) -> None:
        """Push records. Every answer is a reference, ready to be sent back."""
        self.refs += self._measured("Push", [encoded_record(canonical_json(complete(one)).decode()) for one in numbers])

    def pull(self, count: int) -> None:
        """Pull records from all over the store."""
        answers = self._measured("Pull", Random(count).sample(self.refs, count))
        if min(map(len, answers)) < len(self.refs[0]):
            raise SystemExit("A server under measurement gave back no record.")

    def _measured(self, method: str, requests: Sequence[bytes]) -> list[bytes]:
        before = self.server.cpu_seconds()
        answers, seconds = asyncio.run(_exchanged(self.port, method, requests))
        spent = self.server.cpu_seconds() - before
        if len(answers) != len(requests):
            raise SystemExit(f"A server under measurement answered {len(answers)} of {len(requests)} requests.")
        self.speeds.setdefault(method, []).append(len(requests) / seconds)
        self.cpu.setdefault(method, []).append(spent * 1e6 / len(requests))
        return answers


async def _exchanged(port: int, method: str, requests: Sequence[bytes]) -> tuple[list[bytes], float]:
    """Send all requests in one stream; the answers, and the seconds from the first request to the last answer."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await asyncio.wait_for(channel.channel_ready(), _READY_SECONDS)
        ask = cast("Any", channel).stream_stream(_STORE + method)
        start = perf_counter()
        answers = [answer async for answer in ask(iter(requests))]
        return answers, perf_counter() - start


def over_the_wire(effort: Effort) -> list[Figure]:
    """The figures of gRPC and MCP."""
    with _pentad() as ours, _rival() as rival:
        portion = effort.objects // effort.rounds
        for number in range(effort.rounds):
            say(f"Directory: {portion:,} records over gRPC, round {number + 1} of {effort.rounds} ...")
            for lane, share in ((ours, 1), (rival, _SHARE)):
                lane.push(range(number * portion, number * portion + portion // share))
        for _ in range(effort.rounds):
            ours.pull(portion // _PULLED)
            rival.pull(portion // _SHARE)
        say("Directory: pushing over MCP ...")
        count = max(effort.objects // _OVER_MCP, 1)
        seconds, cpu = pushing(ours.server, range(effort.objects, effort.objects + count))
        asking = Asking(ours.server, portion * effort.rounds)
        for number in range(effort.rounds):
            say(f"Directory: searching over MCP, round {number + 1} of {effort.rounds} ...")
            asking.round(number, _TURNS)
    return [*_streamed(ours, rival, effort), *_called(asking, count / seconds, cpu * 1e6 / count)]


def _streamed(ours: Lane, rival: Lane, effort: Effort) -> Iterator[Figure]:
    group = f"Directory: {effort.objects:,} records over gRPC, beside {RIVAL} ({effort.objects // _SHARE:,} records)"
    for method in ("Push", "Pull"):
        mine, theirs = median(ours.speeds[method]), median(rival.speeds[method])
        # what is pushed here is also validated, indexed and on disk, so only pulling compares like with like
        goal = Goal("at least", 1.0) if method == "Pull" else None
        yield Figure(group, f"streamed {method.lower()}", "records/s", mine, theirs, goal, against=RIVAL)
    for method in ("Push", "Pull"):
        mine, theirs = median(ours.cpu[method]), median(rival.cpu[method])
        yield Figure(group, f"CPU time of the server, {method.lower()}", "us", mine, theirs, against=RIVAL)


def _called(asking: Asking, speed: float, cpu: float) -> Iterator[Figure]:
    group = f"Directory: over MCP, {asking.records:,} records"
    yield Figure(group, "push, one record a call, 4 connections", "records/s", speed, against="")
    yield Figure(group, "CPU time of the server for one push", "us", cpu, against="")
    for asked in ASKED:
        yield Figure(group, asked.title, "ms", median(asking.millis[asked.title]), against="")
    for asked in ASKED:
        title = f"CPU time of the server, {asked.title}"
        yield Figure(group, title, "us", median(asking.cpu[asked.title]), against="")


@contextmanager
def _pentad() -> Generator[Lane]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        command = [PENTAD, "serve", "--auth", "none", "--rooms", "directory", "--data", folder, "--port", "{port}"]
        with serving([*command, "--grpc-port", str(port)], _UNLIMITED) as server:
            yield Lane(server, port)


@contextmanager
def _rival() -> Generator[Lane]:
    with serving([python_with("grpc", _PACKAGES), _SERVER, "{port}"]) as server:
        yield Lane(server, server.port)
