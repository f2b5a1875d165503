"""Load on an HTTP server from `wrk`, with a fresh id for every request, and answers looked at where a request says how.

Ids must be fresh over all rounds and lanes too: the official SDK stalls when an id is in flight twice in one session,
and Pentad answers a message that it has seen with its first result, which is cheaper than a task.
"""

import itertools
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.environment import load_generator
from benchmarks.messages import CONNECTIONS, Request, check
from benchmarks.process import Server

_IDS_PER_ROUND: Final = 10_000_000
_ROUNDS: Final = itertools.count(1)

_SCRIPT: Final = """
local id = tonumber(%(first_id)d)
local body = %(body)s
local sessions = %(sessions)s
local expected = %(expected)s
local turn = 0
local loading
wrong = 0
for name, value in pairs(%(headers)s) do wrk.headers[name] = value end

function setup(thread) loading = thread end

function request()
  id = id + 1
  if #sessions > 0 then
    turn = turn %% #sessions + 1
    wrk.headers["Mcp-Session-Id"] = sessions[turn]
  end
  return wrk.format("POST", %(path)s, nil, (body:gsub("{id}", string.format("%%d", id))))
end

if expected ~= "" then
  function response(status, headers, body)
    if not body:find(expected, 1, true) then wrong = wrong + 1 end
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    + loading:get("wrong")
  io.write(string.format('\\nRESULT {"calls":%%d,"micros":%%d,"failed":%%d,"p50":%%d,"p99":%%d}\\n',
    summary.requests, summary.duration, failed, latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True, slots=True)
class Round:
    """One short run of load."""

    calls_per_second: float
    cpu_micros: float
    """CPU time of the server for each call."""
    p50_ms: float
    p99_ms: float


@dataclass(slots=True)
class Lane:
    """One request against one server, measured round by round in turn with the others."""

    name: str
    server: Server
    request: Request
    connections: int = CONNECTIONS
    check: Callable[[int, Request], None] = check
    rounds: list[Round] = field(default_factory=list[Round])

    def prepare(self) -> None:
        """See that it is answered right, and warm it up."""
        self.check(self.server.port, self.request)
        self._load(1)

    def measure(self, seconds: int) -> None:
        self.rounds.append(self._load(seconds))

    @property
    def calls_per_second(self) -> float:
        return median(one.calls_per_second for one in self.rounds)

    @property
    def cpu_micros(self) -> float:
        return median(one.cpu_micros for one in self.rounds)

    @property
    def busy(self) -> float:
        """The share of the time the server was at work; well below 1, something else set the speed."""
        return median(one.cpu_micros * one.calls_per_second / 1e6 for one in self.rounds)

    @property
    def p99_ms(self) -> float:
        return median(one.p99_ms for one in self.rounds)

    def _load(self, seconds: int) -> Round:
        before = self.server.cpu_seconds()
        found = _wrk(self, next(_ROUNDS) * _IDS_PER_ROUND, seconds)
        spent = self.server.cpu_seconds() - before
        if found["failed"] or not found["calls"]:
            raise SystemExit(f"{self.name}: {found['failed']} of {found['calls']} calls failed under load.")
        return Round(
            found["calls"] * 1e6 / found["micros"],
            spent * 1e6 / found["calls"],
            found["p50"] / 1000,
            found["p99"] / 1000,
        )


def _wrk(lane: Lane, first_id: int, seconds: int) -> dict[str, Any]:
    request = lane.request
    script = _SCRIPT % {
        "first_id": first_id,
        "path": _lua(request.path),
        "body": _lua(request.body),
        "expected": _lua(request.expected),
        "sessions": "{" + ",".join(_lua(session) for session in request.sessions) + "}",
        "headers": "{" + ",".join(f"[{_lua(name)}]={_lua(value)}" for name, value in request.headers.items()) + "}",
    }
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        file = Path(folder) / "load.lua"
        file.write_text(script, encoding="utf-8")
        command = [load_generator(), "-t1", f"-c{lane.connections}", f"-d{seconds}s", "-s", str(file)]
        run = subprocess.run(
            [*command, f"http://localhost:{lane.server.port}/"],
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    line = next(line for line in run.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


def _lua(text: str) -> str:
    """A string as Lua writes it; JSON's way is the same for plain ASCII."""
    return json.dumps(text)
