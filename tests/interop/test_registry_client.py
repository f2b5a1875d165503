"""A registry client without any Pentad code, over a real socket: how hosts use a company's registry."""

import asyncio
import json
import subprocess
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conformance.server import REPOSITORY, environment, pentad
from tests.processes.servers import Server
from tests.rooms.directory.registry.registry_client import Answer, RegistryClient, RegistryError
from tests.rooms.directory.registry.site import server

pytestmark = [pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(300)]

TEXT = """{"version": "1.0.0",  "name": "org.example/exact", "description": "Kept as it is: ä, 1.0.",
 "remotes": [{"url": "https://exact.example.org/mcp", "type": "streamable-http"}], "x-unknown": 1e2}"""


async def send(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
    return await asyncio.to_thread(_send, method, url, headers, body)


def _send(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=60)
    try:
        connection.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, body, dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RegistryClient, RegistryClient]]:
    """A client with an administrator's key, and one without any."""
    folder: Path = tmp_path_factory.mktemp("registry")
    made = subprocess.run(
        [pentad(), "keys", "create", "admin", "--scope", "directory:*", "--json", "--data", str(folder)],
        capture_output=True, text=True, cwd=REPOSITORY, env=environment(), timeout=120, check=True,
    )  # fmt: skip
    running = Server(["--data", str(folder)], folder / "server.log", "required", rooms="directory")
    running.start(PENTAD_DIRECTORY_REGISTRY_READERS="anyone")
    try:
        running.wait_until_ready()
        base = f"http://127.0.0.1:{running.port}"
        yield RegistryClient(send, base, json.loads(made.stdout)["token"]), RegistryClient(send, base)
    finally:
        running.stop()


@pytest.mark.requirement("dir:registry:publish", "dir:registry:list", "dir:registry:http")
async def test_hosts_list_search_and_page_what_was_published(clients: tuple[RegistryClient, RegistryClient]) -> None:
    admin, host = clients
    wanted = {(f"org.example/paged-{number}", version) for number in range(4) for version in ("1.0.0", "1.1.0")}
    for name, version in sorted(wanted):
        await admin.publish(json.dumps(server(name, version)))
    every = [one async for one in host.every(search="PAGED-", limit=3)]
    assert {one.key for one in every} == wanted
    assert len(every) == len(wanted)
    latest = {one.key async for one in host.every(search="paged-", version="latest", limit=1)}
    assert latest == {key for key in wanted if key[1] == "1.1.0"}
    assert (await host.version("org.example/paged-2")).key == ("org.example/paged-2", "1.1.0")
    assert [one.key[1] for one in await host.versions("org.example/paged-2")] == ["1.1.0", "1.0.0"]
    with pytest.raises(RegistryError, match="404"):
        await host.version("org.example/unknown")
    with pytest.raises(RegistryError, match="401"):
        await host.publish(json.dumps(server("org.example/stranger")))


@pytest.mark.requirement("dir:registry:faithful")
async def test_a_server_json_comes_back_byte_for_byte(clients: tuple[RegistryClient, RegistryClient]) -> None:
    admin, host = clients
    await admin.publish(TEXT)
    assert (await host.version("org.example/exact", "1.0.0")).server["x-unknown"] == 100.0
    answer = await send("GET", f"{host.base}/v0.1/servers/org.example%2Fexact/versions/1.0.0", {}, None)
    assert TEXT.encode() in answer.body


@pytest.mark.requirement("dir:registry:deltas", "dir:registry:status")
async def test_a_change_since_a_moment_says_what_is_gone(clients: tuple[RegistryClient, RegistryClient]) -> None:
    admin, host = clients
    await admin.publish(json.dumps(server("org.example/short-lived")))
    before = (await host.version("org.example/short-lived")).updated_at
    await admin.set_status("org.example/short-lived", "1.0.0", status="deleted", statusMessage="Gone.")
    changed = [one async for one in host.every(updated_since=before)]
    assert [(one.key[0], one.status) for one in changed] == [("org.example/short-lived", "deleted")]
    assert "org.example/short-lived" not in [one.key[0] async for one in host.every()]
