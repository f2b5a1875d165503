"""How long a change of a schema takes on PostgreSQL while others create objects in it, beside an idle store.

Clients create objects at a steady rate, each waiting for its answer; no write may fail. Beside the changes stands the
longest that a client waited for a write.
"""

import json
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, sleep
from typing import Any, Final

from benchmarks.effort import Effort
from benchmarks.environment import PENTAD, say
from benchmarks.process import serving
from benchmarks.registers.client import KeepAlive
from benchmarks.table import Figure, Goal
from tests.stores import PostgresServer

_OBJECTS: Final = 6_000
_RATES: Final = (0, 10, 110)
_CLIENTS: Final = 4
_PATH: Final = "/api/objects/bench/permit"
_UNLIMITED: Final = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0", "PENTAD_LIMITS_JSON_KEYS": "100000"}
_FIGURES: Final = (
    ("description", "change the description", Goal("at most", 1_000.0, "figure")),
    ("migration", "rename a property of every object", None),
    ("wait", "the longest wait for a write", None),
)


@dataclass(slots=True)
class _Load:
    """Clients that create objects until they are told to end."""

    port: int
    rate: int
    ending: threading.Event = field(default_factory=threading.Event)
    waits: list[float] = field(default_factory=list[float])

    def write(self, number: int) -> None:
        client, turn, begun = KeepAlive(self.port), 0, perf_counter()
        while not self.ending.is_set():
            start = perf_counter()
            client.must("POST", _PATH, json.dumps({"number": f"L-{number}-{turn}"}).encode())
            self.waits.append((perf_counter() - start) * 1e3)
            turn += 1
            sleep(max(0.0, begun + turn * _CLIENTS / self.rate - perf_counter()))


@contextmanager
def _loaded(port: int, rate: int) -> Generator[_Load]:
    load = _Load(port, rate)
    clients = [threading.Thread(target=load.write, args=(number,)) for number in range(_CLIENTS if rate else 0)]
    for client in clients:
        client.start()
    try:
        yield load
    finally:
        load.ending.set()
        for client in clients:
            client.join()


def measure_schema_changes(effort: Effort) -> list[Figure]:
    say(f"Registers: schemas change on PostgreSQL, {_OBJECTS:,} objects ...")
    postgres = PostgresServer()
    try:
        with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
            command = [PENTAD, "serve", "--auth", "none", "--rooms", "registers", "--data", folder, "--port", "{port}"]
            database = ["--database", postgres.fresh_database(), "--grpc-port", "0"]
            with serving([*command, *database], _UNLIMITED) as server:
                found = {rate: _measure(server.port, rate, effort.rounds) for rate in _RATES}
    finally:
        postgres.remove()
    group = f"A schema on PostgreSQL changes while %d objects a second are created, {_OBJECTS:,} objects"
    return [
        Figure(group % rate, text, "ms", found[rate][name], found[0].get(name), goal, against="idle")
        for rate in _RATES[1:]
        for name, text, goal in _FIGURES
    ]


def _measure(port: int, rate: int, rounds: int) -> dict[str, float]:
    """The times of both changes under a load, on a fresh register and schema."""
    client = KeepAlive(port)
    for path in ("/api/registers/bench", "/api/schemas/permit"):
        client.ask("PATCH", path, json.dumps({"slug": f"{path.rpartition('/')[2]}-before-{rate}"}).encode())
    first: dict[str, Any] = {"number": {"type": "string", "unique": True}, "fee": {"type": "number", "x-index": True}}
    schema = {"title": "Permit", "slug": "permit", "properties": first}
    client.must("POST", "/api/schemas", json.dumps(schema).encode())
    client.must("POST", "/api/registers", b'{"title": "Bench", "slug": "bench", "schemas": ["permit"]}')
    for start in range(0, _OBJECTS, 500):
        rows = [{"number": f"P-{one}", "fee": one} for one in range(start, start + 500)]
        client.must("POST", "/api/bulk/bench/permit/save", json.dumps({"objects": rows}).encode())
    times: dict[str, list[float]] = {}
    with _loaded(port, rate) as load:
        names = ["fee", "amount"]
        for number in range(rounds):
            rename = {"operations": [{"op": "rename", "property": names[0], "to": names[1]}]}
            changes: dict[str, tuple[str, str, dict[str, Any]]] = {
                "description": ("PATCH", "/api/schemas/permit", {"description": f"As of round {number}"}),
                "migration": ("POST", "/api/schemas/permit/patch", rename),
            }
            for name, (method, path, change) in changes.items():
                start = perf_counter()
                client.must(method, path, json.dumps(change).encode())
                times.setdefault(name, []).append((perf_counter() - start) * 1e3)
            names.reverse()
    found = {name: median(taken) for name, taken in times.items()}
    return {**found, "wait": max(load.waits)} if load.waits else found
