"""The protocol itself, measured on a tool that does no work: Pentad beside the official SDK and the practical limit.

All servers run at once, one worker each, and take their rounds in turn (A B C A B C ...), so that whatever else the
machine does falls on all of them alike. Medians are reported.
"""

import secrets
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import messages, stdio
from benchmarks.effort import Effort
from benchmarks.environment import PENTAD, ROOT, rival_python, say
from benchmarks.load import Lane
from benchmarks.process import Server, environment, serving
from benchmarks.table import Figure, Goal
from tests.oauth_client import access_token

_ROOM: Final = "benchmarks.room:ROOM"
_RIVALS: Final = ROOT / "benchmarks" / "rivals"
_UNLIMITED: Final = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0"}
_SESSIONS: Final = 1000
_WARM_SESSIONS: Final = 100
_COLD_STARTS: Final = 7
_SATURATED: Final = 0.9

_HTTP: Final = "HTTP, 16 connections"
_CPU: Final = "CPU time of the server for a call (the steadier figure when other programs run)"
_STDIO: Final = "stdio"
_MEMORY: Final = "Memory"


def measure(effort: Effort) -> list[Figure]:
    """Every figure of this part."""
    rival_python()
    return [*_over_http(effort), *_over_stdio(effort), *_in_memory()]


def _over_http(effort: Effort) -> list[Figure]:
    with _all_lanes() as lanes:
        say("Checking every answer, warming up ...")
        for lane in lanes.values():
            lane.prepare()
        for number in range(effort.rounds):
            say(f"HTTP, round {number + 1} of {effort.rounds} ...")
            for lane in lanes.values():
                lane.measure(effort.seconds)
        return [*_speeds(lanes), *_costs(lanes)]


@contextmanager
def _all_lanes() -> Generator[dict[str, Lane]]:
    with (
        tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder,
        _rival_server() as rival,
        _pentad_server(Path(folder) / "open", "none") as unguarded,
        _pentad_server(Path(folder) / "guarded", "required") as guarded,
        serving([rival_python(), _RIVALS / "bare.py", "{port}"]) as bare,
    ):
        key = _new_key(Path(folder) / "guarded")
        token = _oauth_token(Path(folder) / "guarded", guarded)
        call, listing = "tools/call", "tools/list"
        lanes = [
            Lane("rival modern", rival, messages.modern(call)),
            Lane("none modern", unguarded, messages.modern(call)),
            Lane("key modern", guarded, messages.modern(call, key)),
            Lane("oauth modern", guarded, messages.modern(call, token)),
            Lane("bare", bare, messages.modern(call)),
            Lane("rival legacy", rival, messages.legacy(call, rival.port)),
            Lane("none legacy", unguarded, messages.legacy(call, unguarded.port)),
            Lane("key legacy", guarded, messages.legacy(call, guarded.port, key)),
            Lane("oauth legacy", guarded, messages.legacy(call, guarded.port, token)),
            Lane("rival list", rival, messages.modern(listing)),
            Lane("none list", unguarded, messages.modern(listing)),
        ]
        yield {lane.name: lane for lane in lanes}


_COMPARED: Final = (
    ("tools/call, 2026-07-28, no login", "none modern", "rival modern", 5.0),
    ("tools/call, 2025-11-25, no login", "none legacy", "rival legacy", 5.0),
    ("tools/call, 2026-07-28, API key", "key modern", "rival modern", 4.0),
    ("tools/call, 2025-11-25, API key", "key legacy", "rival legacy", 4.0),
    ("tools/call, 2026-07-28, OAuth", "oauth modern", "rival modern", 4.0),
    ("tools/call, 2025-11-25, OAuth", "oauth legacy", "rival legacy", 4.0),
    ("tools/list, 2026-07-28, no login", "none list", "rival list", None),
)


def _speeds(lanes: dict[str, Lane]) -> Iterator[Figure]:
    for name, own, other, times in _COMPARED:
        goal = None if times is None else Goal("at least", times)
        ours, theirs = lanes[own], lanes[other]
        remark = "" if ours.busy > _SATURATED else f"(server only {ours.busy:.0%} busy)"
        yield Figure(_HTTP, name, "calls/s", ours.calls_per_second, theirs.calls_per_second, goal, remark)
    for name, own, other, _ in _COMPARED[:2]:
        yield Figure(_HTTP, f"{name}: 99 % within", "ms", lanes[own].p99_ms, lanes[other].p99_ms)
    share = 100 * lanes["none modern"].calls_per_second / lanes["bare"].calls_per_second
    yield Figure(_HTTP, f"share of a bare handler's {lanes['bare'].calls_per_second:,.0f} calls/s", "%", share)


def _costs(lanes: dict[str, Lane]) -> Iterator[Figure]:
    for name, own, other, times in _COMPARED:
        goal = None if times is None else Goal("at most", 1 / times)
        yield Figure(_CPU, name, "us", lanes[own].cpu_micros, lanes[other].cpu_micros, goal)
    yield Figure(_CPU, "a bare handler, for comparison", "us", lanes["bare"].cpu_micros)


def _over_stdio(effort: Effort) -> list[Figure]:
    other: stdio.Command = [rival_python(), _RIVALS / "mcp_server.py", "stdio"]
    prepared: list[stdio.Start] = []
    fresh: list[stdio.Start] = []
    rival: list[stdio.Start] = []
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        kept = _stdio_command(Path(folder) / "kept")
        stdio.cold_start(kept)
        stdio.cold_start(other)
        say(f"stdio, {_COLD_STARTS} cold starts each ...")
        for number in range(_COLD_STARTS):
            prepared.append(stdio.cold_start(kept))
            rival.append(stdio.cold_start(other))
            fresh.append(stdio.cold_start(_stdio_command(Path(folder) / f"fresh-{number}")))
        say("stdio, calls a second ...")
        speeds = [
            (stdio.calls_per_second(kept, effort.seconds), stdio.calls_per_second(other, effort.seconds))
            for _ in range(effort.rounds)
        ]
    half = Goal("at most", 0.5)
    return [
        Figure(_STDIO, "cold start to first answer, known data folder", "ms", _answer(prepared), _answer(rival), half),
        Figure(_STDIO, "cold start to first answer, new data folder", "ms", _answer(fresh), _answer(rival), half),
        Figure(_STDIO, "CPU time of a start, one call and the end", "ms", _cpu(prepared), _cpu(rival), half),
        Figure(
            _STDIO,
            "tools/call, 16 under way",
            "calls/s",
            median(own for own, _ in speeds),
            median(theirs for _, theirs in speeds),
        ),
    ]


def _answer(starts: list[stdio.Start]) -> float:
    return median(start.answer_ms for start in starts)


def _cpu(starts: list[stdio.Start]) -> float:
    return median(start.cpu_ms for start in starts)


def _in_memory() -> list[Figure]:
    say(f"Memory, {_SESSIONS} sessions each ...")
    with (
        tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder,
        _pentad_server(Path(folder) / "data", "none") as own,
        _rival_server() as rival,
    ):
        idle = [_settled(server) for server in (own, rival)]
        grown = [_growth_by_sessions(server) for server in (own, rival)]
    return [
        Figure(_MEMORY, "idle server", "MB", idle[0], idle[1]),
        Figure(_MEMORY, f"{_SESSIONS:,} idle sessions", "MB", grown[0], grown[1], Goal("at most", 2, "figure")),
    ]


def _settled(server: Server) -> float:
    """Memory after the first answer, when everything put off has been imported."""
    messages.check(server.port, messages.modern("tools/call"))
    return server.resident_mb()


def _growth_by_sessions(server: Server) -> float:
    messages.begin_sessions(server.port, _WARM_SESSIONS)
    before = server.resident_mb()
    messages.begin_sessions(server.port, _SESSIONS)
    return server.resident_mb() - before


def _rival_server() -> AbstractContextManager[Server]:
    return serving([rival_python(), _RIVALS / "mcp_server.py", "http", "{port}"])


def _pentad_server(data: Path, auth: str) -> AbstractContextManager[Server]:
    command = [PENTAD, "serve", "--port", "{port}", "--grpc-port", "0", "--auth", auth]
    return serving([*command, "--rooms", _ROOM, "--data", data], _UNLIMITED)


def _stdio_command(data: Path) -> stdio.Command:
    return [PENTAD, "mcp", "serve", "--rooms", _ROOM, "--data", data]


def _new_key(data: Path) -> str:
    command = [PENTAD, "keys", "create", "benchmark", "--data", data]
    made = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(), encoding="utf-8")
    return made.stdout.strip()


def _oauth_token(data: Path, server: Server) -> str:
    """An access token, as a client gets it after a login and a consent."""
    name, password = "benchmark", secrets.token_urlsafe(16)
    command = [PENTAD, "users", "add", name, "--password-stdin", "--data", data]
    subprocess.run(command, input=password, check=True, capture_output=True, text=True, env=environment())
    return access_token(f"http://localhost:{server.port}", "/mcp", "echo:read", name, password)
