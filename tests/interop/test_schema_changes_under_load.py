"""A schema changes on PostgreSQL while clients create objects in it: a real server, real connections, real time.

A past bug: with 6,000 objects and one client that wrote ten times a second, a migration gave up after ten seconds, and
at 110 writes a second even a change of description did. `make bench registers` says how long a change takes.
"""

import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest

from tests.conformance.server import serving
from tests.stores import PostgresServer
from tests.waiting import wait_until

pytestmark = pytest.mark.interop

OBJECTS = 6_000
CLIENTS = 4
CHANGES = 7
SETTINGS = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0", "PENTAD_LIMITS_JSON_KEYS": "100000"}
PERMIT: dict[str, Any] = {"number": {"type": "string", "unique": True}, "fee": {"type": "number", "x-index": True}}


class Connection:
    """One connection that stays open, and the responses on it."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body)
        self._http.request(method, f"/api{path}", content, {"content-type": "application/json"})
        answer = self._http.getresponse()
        text = answer.read()
        assert answer.status < 300, (method, path, answer.status, text)
        return json.loads(text)

    def close(self) -> None:
        self._http.close()


@dataclass
class Load:
    """Clients that create `rate` objects a second, each waiting for its response."""

    port: int
    rate: int
    written: list[str] = field(default_factory=list[str])
    failed: list[BaseException] = field(default_factory=list[BaseException])
    ending: threading.Event = field(default_factory=threading.Event)

    def write(self, client: int) -> None:
        connection, turn, begun = Connection(self.port), 0, monotonic()
        try:
            while not self.ending.is_set():
                number = f"L-{client}-{turn}"
                connection.send("POST", "/objects/city/permit", {"number": number})
                self.written.append(number)
                turn += 1
                self.ending.wait(max(0.0, begun + turn * CLIENTS / self.rate - monotonic()))
        except BaseException as error:  # noqa: BLE001  whatever it is, the test says so
            self.failed.append(error)
        finally:
            connection.close()

    @contextmanager
    def running(self) -> Generator[None]:
        clients = [threading.Thread(target=self.write, args=(number,)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            yield
        finally:
            self.ending.set()
            for client in clients:
                client.join(60)


@pytest.mark.requirement("registers:evolution:under-load")
@pytest.mark.parametrize("rate", [10, 110])
def test_a_schema_changes_under_load_and_no_write_fails(rate: int, postgres_server: PostgresServer) -> None:
    database = postgres_server.fresh_database()
    with serving("registers", ["--database", database], settings=SETTINGS) as served:
        client = Connection(served.port)
        client.send("POST", "/schemas", {"title": "Permit", "slug": "permit", "properties": PERMIT})
        client.send("POST", "/registers", {"title": "City", "slug": "city", "schemas": ["permit"]})
        for start in range(0, OBJECTS, 1_000):
            rows = [{"data": {"number": f"P-{one}", "fee": one}} for one in range(start, start + 1_000)]
            client.send("POST", "/bulk/city/permit", {"operations": rows})
        load = Load(served.port, rate)
        with load.running():
            for number in range(CHANGES):
                client.send("PATCH", "/schemas/permit", {"description": f"The description {number}"})
            rename = [{"op": "rename", "property": "fee", "to": "amount"}]
            changed = client.send("POST", "/schemas/permit/patch", {"operations": rename})
            before = len(load.written)
            wait_until(lambda: len(load.written) > before or load.failed, "nobody writes after the migration")
        assert load.failed == []
        assert list(changed["properties"]) == ["number", "amount"]
        assert client.send("GET", "/objects/city/permit?_limit=0")["total"] == OBJECTS + len(load.written)
        assert client.send("GET", "/objects/city/permit?_limit=0&amount[exists]=true")["total"] == OBJECTS
        client.close()
