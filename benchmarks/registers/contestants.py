"""The servers under measurement and how each is asked the same things.

Equal for all: one process, what is acknowledged is on disk, every object is validated with formats, every write leaves
a row of history. Indexes on the same properties and one over all words, where a server can have them. Kinto cannot, and
has no facets.
"""

import json
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from benchmarks.environment import PENTAD, ROOT, python_with
from benchmarks.process import Server, serving
from benchmarks.registers.client import KeepAlive, Loading
from benchmarks.registers.workload import INDEXED, PROPERTIES, SCHEMA

FASTAPI: Final = "FastAPI 0.162 + SQLAlchemy 2.1"
_FASTAPI_PACKAGES: Final = (
    "fastapi==0.162.*", "sqlalchemy==2.1.*", "jsonschema[format]==4.26.*", "uvicorn", "httptools", "uvloop", "orjson",
)  # fmt: skip
_UNLIMITED: Final = {"PENTAD_LIMITS_CALLS_PER_SECOND": "0", "PENTAD_LIMITS_JSON_KEYS": "100000"}
_RIVAL: Final = ROOT / "benchmarks" / "rivals" / "object_server.py"


class Contestant(Protocol):
    """One server, asked over one connection, and loaded over several. Every method is what is measured."""

    server: Server

    def bulk(self, batches: Sequence[Sequence[bytes]]) -> None:
        """Write all of them, each batch in one request."""
        ...

    def create(self, body: bytes) -> str:
        """The new object's id."""
        ...

    def get(self, key: str) -> int: ...

    def find(self, name: str, value: str) -> tuple[int, int]:
        """How many there are in all, and how many of them (30 at most) came back."""
        ...

    def facets(self) -> dict[str, int] | None:
        """How many objects have each status; None where the server cannot say."""
        ...


class Pentad:
    """`pentad serve` over SQLite, asked through its REST routes."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._client = KeepAlive(server.port)
        self._loading = Loading(server.port)
        schema = {"title": "Item", "slug": "item", "required": SCHEMA["required"], "properties": PROPERTIES}
        self._client.must("POST", "/api/schemas", json.dumps(schema).encode())
        self._client.must("POST", "/api/registers", b'{"title": "Bench", "slug": "bench", "schemas": ["item"]}')

    def bulk(self, batches: Sequence[Sequence[bytes]]) -> None:
        self._loading.post(
            "/api/bulk/bench/item/save", (b'{"objects":[' + b",".join(bodies) + b"]}" for bodies in batches)
        )

    def create(self, body: bytes) -> str:
        return str(json.loads(self._client.must("POST", "/api/objects/bench/item", body))["id"])

    def get(self, key: str) -> int:
        return len(self._client.must("GET", f"/api/objects/bench/item/{key}"))

    def find(self, name: str, value: str) -> tuple[int, int]:
        found = json.loads(self._client.must("GET", f"/api/objects/bench/item?{name}={value}&_limit=30"))
        return found["total"], len(found["results"])

    def facets(self) -> dict[str, int] | None:
        found = json.loads(self._client.must("GET", "/api/objects/bench/item?_limit=0&_facets=status,category"))
        return {entry["key"]: entry["count"] for entry in found["facets"]["status"]["buckets"]}


class FastApi:
    """The afternoon's server of `rivals/object_server.py`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._client = KeepAlive(server.port)
        self._loading = Loading(server.port)

    def bulk(self, batches: Sequence[Sequence[bytes]]) -> None:
        self._loading.post("/bulk", (b"[" + b",".join(bodies) + b"]" for bodies in batches))

    def create(self, body: bytes) -> str:
        return str(json.loads(self._client.must("POST", "/objects", body))["id"])

    def get(self, key: str) -> int:
        return len(self._client.must("GET", f"/objects/{key}"))

    def find(self, name: str, value: str) -> tuple[int, int]:
        found = json.loads(self._client.must("GET", f"/objects?{name}={value}&limit=30"))
        return found["total"], len(found["results"])

    def facets(self) -> dict[str, int] | None:
        found: dict[str, Any] = json.loads(self._client.must("GET", "/facets?names=status,category"))
        return found["status"]


@contextmanager
def pentad() -> Generator[Pentad]:
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        command = [PENTAD, "serve", "--auth", "none", "--rooms", "registers", "--data", folder, "--port", "{port}"]
        with serving([*command, "--grpc-port", "0"], _UNLIMITED) as server:
            yield Pentad(server)


@contextmanager
def fastapi() -> Generator[FastApi]:
    python = python_with("fastapi", _FASTAPI_PACKAGES)
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        definition = Path(folder) / "schema.json"
        definition.write_text(json.dumps({"schema": SCHEMA, "indexed": INDEXED}), encoding="utf-8")
        with serving([python, _RIVAL, "{port}", Path(folder) / "objects.db", definition]) as server:
            yield FastApi(server)
