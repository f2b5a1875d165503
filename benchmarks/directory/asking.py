"""Calls the directory's tools over HTTP with a cheap client: pushing records, and searching for them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any, Final

from benchmarks.directory.workload import coined, complete, name, record
from benchmarks.messages import MODERN
from benchmarks.process import Server
from benchmarks.registers.client import KeepAlive, Loading

PUSH: Final = "agntcy_dir_push_record"
SEARCH: Final = "agntcy_dir_search_local"

_META: Final = "io.modelcontextprotocol/"
_WHO: Final = {
    f"{_META}protocolVersion": MODERN,
    f"{_META}clientCapabilities": {},
    f"{_META}clientInfo": {"name": "benchmark", "version": "1"},
}


def call(tool: str, arguments: dict[str, Any]) -> bytes:
    """The body of one call."""
    params = {"name": tool, "arguments": arguments, "_meta": _WHO}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def headers(tool: str) -> dict[str, str]:
    accepted = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN}
    return {**accepted, "Mcp-Method": "tools/call", "Mcp-Name": tool}


def result(answer: bytes) -> dict[str, Any]:
    """The answer of a tool; a failure ends the run."""
    said: dict[str, Any] = json.loads(answer).get("result", {}).get("structuredContent", {})
    if not said or said.get("error_message"):
        raise SystemExit(f"A server under measurement answered wrongly: {answer[:500]!r}")
    return said


def pushing(server: Server, numbers: Sequence[int]) -> tuple[float, float]:
    """Push these records, one per call, over four connections. Returns the seconds, and the server's CPU seconds."""
    bodies = [call(PUSH, {"record_json": json.dumps(complete(number))}) for number in numbers]
    loading = Loading(server.port, headers(PUSH))
    before, start = server.cpu_seconds(), perf_counter()
    answers = loading.post("/mcp", bodies)
    spent = perf_counter() - start, server.cpu_seconds() - before
    if len({result(answer)["cid"] for answer in answers}) != len(numbers):
        raise SystemExit("A server under measurement lost a record.")
    return spent


@dataclass(frozen=True, slots=True)
class Asked:
    """A search, for another record each time."""

    title: str
    arguments: Callable[[int], dict[str, Any]]
    one: bool
    """Exactly one record matches."""


ASKED: Final = (
    Asked("filter by name, 1 hit", lambda number: {"names": [name(number)]}, True),
    Asked("filter by name with wildcards, 1 hit", lambda number: {"names": [f"*{name(number)[12:-1]}?"]}, True),
    Asked(
        "filter by skill and domain",
        lambda number: {
            "skill_names": [record(number)["skills"][0]["name"]],
            "domain_names": [record(number)["domains"][0]["name"]],
        },
        False,
    ),
    Asked("words, one of them rare", lambda number: {"query": f"the agent known as {coined(number)}"}, True),
    Asked("words, all of them frequent", lambda _number: {"query": "translates images of invoices"}, False),
)


@dataclass(slots=True)
class Asking:
    """A client that repeats searches, and its measurements by title."""

    server: Server
    records: int
    millis: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    cpu: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def round(self, number: int, turns: int) -> None:
        client = KeepAlive(self.server.port, headers(SEARCH))
        for asked in ASKED:
            numbers = [(number * turns + turn) * 7919 % self.records for turn in range(turns)]
            bodies = [call(SEARCH, {**asked.arguments(wanted), "limit": 20}) for wanted in numbers]
            times: list[float] = []
            before = self.server.cpu_seconds()
            for body in bodies:
                start = perf_counter()
                answer = client.must("POST", "/mcp", body)
                times.append((perf_counter() - start) * 1e3)
                if (count := len(result(answer)["record_cids"])) != 1 and (asked.one or not count):
                    raise SystemExit(f"A server under measurement found {count} records for {body!r}.")
            spent = self.server.cpu_seconds() - before
            self.millis.setdefault(asked.title, []).append(median(times))
            self.cpu.setdefault(asked.title, []).append(spent * 1e6 / turns)
        client.close()
