"""What a task costs: Pentad's engine beside the official A2A library, and beside AgentVault's.

Equal for all: one process on a core of its own, uvloop and httptools, the same agent, the same request, every answer
looked at. "In memory" is the library's InMemoryTaskStore; Pentad, which always keeps its log in a store, has it on a
RAM disk, where it still outlives its process. "Durable" is a SQLite file on disk for both. AgentVault's library keeps
nothing but the name of a task and its agent does nothing: that line is what a task costs beside none. Durable steps
are measured beside a journal written by hand, which marks each step before and after it runs, and beside one that does
so only after it, so that a crash makes a step run twice.
"""

import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.agents.workload import EVENTS, STEPS, check, send, steps, stream, tasks_send
from benchmarks.effort import Effort
from benchmarks.environment import PENTAD, ROOT, python_with, say
from benchmarks.load import Lane
from benchmarks.messages import Request
from benchmarks.process import Server, serving
from benchmarks.table import Figure, Goal

A2A: Final = "a2a-sdk 1.3.0"
MARKED_JOURNAL: Final = "a hand-written journal, begin and end"
JOURNAL: Final = "a hand-written journal, end only"
AGENTVAULT: Final = "agentvault-server-sdk 0.1.1"
_A2A_PACKAGES: Final = ("a2a-sdk[http-server,sqlite]==1.3.0", "uvicorn", "httptools", "uvloop")
_AGENTVAULT_PACKAGES: Final = (
    "agentvault-server-sdk==0.1.1", "agentvault==0.2.1", "uvicorn", "httptools", "uvloop"
)  # fmt: skip
_RIVALS: Final = ROOT / "benchmarks" / "rivals"
_AGENT: Final = "benchmarks.agents.agent:Agent"
_UNLIMITED: Final = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0"}
_MEMORY: Final = "/dev/shm"
_PATH: Final = "/a2a"


@dataclass(frozen=True, slots=True)
class Pair:
    """One line of the table: the same load on both servers, in turns."""

    group: str
    name: str
    unit: str
    ours: Lane
    theirs: Lane
    goal: float | None
    against: str
    each: int = 1
    """What a call counts for."""

    def figure(self) -> Figure:
        mine, other = (lane.calls_per_second * self.each for lane in (self.ours, self.theirs))
        goal = None if self.goal is None else Goal("at least", self.goal)
        return Figure(self.group, self.name, self.unit, mine, other, goal, against=self.against)

    def cost(self) -> Figure:
        mine, other = (lane.cpu_micros / self.each for lane in (self.ours, self.theirs))
        name = f"{self.name}, {self.group.partition(',')[0].lower()}"
        group = f"CPU time of the server for one, beside {self.against}"
        return Figure(group, name, "us", mine, other, against=self.against)


def measure(effort: Effort) -> list[Figure]:
    """Every figure of this part."""
    with ExitStack() as stack:
        memory, disk = stack.enter_context(_pentad(_MEMORY)), stack.enter_context(_pentad(None))
        library = stack.enter_context(_a2a(in_memory=True)), stack.enter_context(_a2a(in_memory=False))
        pairs = [
            *_a2a_pairs("In memory, task sent and completed", memory, library[0], 5.0, 4.0),
            *_a2a_pairs("Durable, task sent and completed", disk, library[1], 8.0, None),
            *_agentvault_pairs(memory, stack.enter_context(_agentvault())),
            *_step_pairs(disk, stack.enter_context(_step_journal("marked")), 0.8, MARKED_JOURNAL),
            *_step_pairs(disk, stack.enter_context(_step_journal()), None, JOURNAL),
        ]
        lanes = [lane for pair in pairs for lane in (pair.ours, pair.theirs)]
        for lane in lanes:
            lane.prepare()
        for number in range(effort.rounds):
            say(f"Agents, round {number + 1} of {effort.rounds} ...")
            for lane in lanes:
                lane.measure(effort.seconds)
    return [*(pair.figure() for pair in pairs), *(pair.cost() for pair in pairs)]


def _a2a_pairs(group: str, ours: Server, theirs: Server, sent: float, streamed: float | None) -> Iterator[Pair]:
    for connections in (1, 16):
        lanes = _lanes(send(_PATH), send(_PATH), ours, theirs, connections)
        yield Pair(group, f"SendMessage, {_said(connections)}", "tasks/s", *lanes, sent, A2A)
    if streamed is not None:
        for connections in (1, 4):
            lanes = _lanes(stream(_PATH), stream(_PATH), ours, theirs, connections)
            name = f"SendStreamingMessage, {_said(connections)}"
            yield Pair(group, name, "events/s", *lanes, streamed, A2A, EVENTS)


def _agentvault_pairs(ours: Server, theirs: Server) -> Iterator[Pair]:
    for connections in (1, 16):
        lanes = _lanes(tasks_send(_PATH), tasks_send(f"{_PATH}/"), ours, theirs, connections)
        group = "In memory, a task run and kept beside a task named"
        yield Pair(group, f"tasks/send, {_said(connections)}", "tasks/s", *lanes, 1.0, AGENTVAULT)


def _step_pairs(ours: Server, theirs: Server, goal: float | None, against: str) -> Iterator[Pair]:
    for connections in (1, 16):
        lanes = _lanes(steps(_PATH), steps(_PATH), ours, theirs, connections)
        name = f"turn.step, tasks {_said(connections)}"
        yield Pair(f"Durable, steps of tasks, beside {against}", name, "steps/s", *lanes, goal, against, STEPS)


def _lanes(mine: Request, other: Request, ours: Server, theirs: Server, connections: int) -> tuple[Lane, Lane]:
    return Lane("Pentad", ours, mine, connections, check), Lane("its rival", theirs, other, connections, check)


def _said(connections: int) -> str:
    return "one at a time" if connections == 1 else f"{connections} at once"


@contextmanager
def _pentad(place: str | None) -> Generator[Server]:
    with tempfile.TemporaryDirectory(prefix="pentad-bench-", dir=place) as folder:
        command = [PENTAD, "serve", "--auth", "none", "--rooms", "agents", "--agent", _AGENT, "--data", folder]
        with _served([*command, "--port", "{port}", "--grpc-port", "0"]) as server:
            yield server


@contextmanager
def _a2a(*, in_memory: bool) -> Generator[Server]:
    python = python_with("a2a", _A2A_PACKAGES)
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        place = "memory" if in_memory else Path(folder) / "tasks.db"
        with _served([python, _RIVALS / "a2a_server.py", "{port}", place]) as server:
            yield server


@contextmanager
def _agentvault() -> Generator[Server]:
    python = python_with("agentvault", _AGENTVAULT_PACKAGES)
    with _served([python, _RIVALS / "agentvault_server.py", "{port}"]) as server:
        yield server


@contextmanager
def _step_journal(*options: str) -> Generator[Server]:
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        command = [sys.executable, _RIVALS / "step_journal.py", "{port}", Path(folder) / "steps.db", *options]
        with _served(command) as server:
            yield server


@contextmanager
def _served(command: Sequence[str | Path]) -> Generator[Server]:
    with serving(command, {**_UNLIMITED, "PYTHONPATH": str(ROOT)}) as server:
        yield server
