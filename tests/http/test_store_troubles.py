"""A store that cannot write, or is damaged: readers are served on every wire, and nothing fails silently."""

import base64
import contextlib
import json
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode, aio

from pentad.app import App, open_app
from pentad.http.front import Front
from pentad.http.grpc_port import open_ports
from pentad.kernel.errors import Unavailable
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.wire.protos import core_pb2, search_pb2
from pentad.rooms.registers.models import Caller
from pentad.settings.model import Settings
from pentad.storage.diagnostics import Store
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import AppMaker, front_of
from tests.behaviour.http_wire import HttpAnswer, send
from tests.refusing import damage, full, read_only
from tests.rooms.directory.interface.grpc.site import Wire as GrpcWire
from tests.rooms.directory.interface.grpc.site import record_of
from tests.rooms.directory.oasf.samples import sample
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"
ROOMS = ("directory", "registers", "agents", "metrics")
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
LISTING = b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"openregister://registers"}}'


@dataclass
class World:
    """A server whose store has stopped writing, and its previous content."""

    app: App
    front: Front
    grpc: GrpcWire
    logins: dict[str, str]
    cid: str = ""
    task: str = ""
    sessions: dict[str, str] = field(default_factory=dict[str, str])

    def send(self, verb: str, path: str, body: Any = None, *, who: str = "password", **headers: str) -> HttpAnswer:
        given = {"authorization": self.logins[who], **{name.replace("_", "-"): text for name, text in headers.items()}}
        if body is not None:
            given["content-type"] = "application/json"
        return send(self.front, verb, path, given, b"" if body is None else json.dumps(body).encode())

    def rpc(self, method: str, params: Any, path: str = "/mcp", **headers: str) -> HttpAnswer:
        return self.send("POST", path, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **headers)

    def modern(self, method: str, params: dict[str, Any], name: str) -> HttpAnswer:
        meta = {
            "io.modelcontextprotocol/protocolVersion": HTTP_MODERN.revision,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {"mcp_protocol_version": HTTP_MODERN.revision, "mcp_method": method, "mcp_name": name}
        return self.rpc(method, {**params, "_meta": meta}, **headers)


@contextlib.asynccontextmanager
async def opened(data: Path, database: str | None) -> AsyncGenerator[World]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    settings = Settings(data=data, database=database, rooms=ROOMS, grpc_port=port, host="127.0.0.1")
    async with open_app(settings) as app, open_ports(app), aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await app.users.add("ada", PASSWORD, role="admin")
        key = f"Bearer {(await app.api_keys.create('k', scopes=['*:*'])).token}"
        logins = {"password": "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode(), "key": key}
        world = World(app, front_of(app), GrpcWire(channel, [("authorization", logins["password"])]), logins)
        await _fill(world)
        aged = "UPDATE mcp_sessions SET touched_at = touched_at - 120"  # so that a use would be recorded
        await app.database.write(lambda tx: tx.run(aged))
        with read_only(app.database):
            yield world


async def _fill(world: World) -> None:
    (world.cid,) = await world.grpc.push(sample("1.0.0"))
    registers = world.app.rooms[1].service
    await registers.catalogue.registers.create(Caller(LOCAL), {"title": "Books", "slug": "books"})
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    answer = await world.rpc("SendMessage", {"message": message}, "/agents/echo", a2a_version="1.0").json()
    world.task = answer["result"]["task"]["id"]
    for path in ("/mcp", "/api/mcp"):
        begun = world.rpc("initialize", {**INITIALIZE, "protocolVersion": "2025-03-26"}, path)
        await begun.body()
        world.sessions[path] = begun.headers["mcp-session-id"]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    database: str | None = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.fresh_database()
    async with opened(tmp_path_factory.mktemp("world"), database) as made:
        yield made


@pytest.fixture(autouse=True)
def anew(request: pytest.FixtureRequest) -> None:
    """Everybody signs in again, and nobody has calls left that were allowed before."""
    if "world" in request.fixturenames:
        app: App = request.getfixturevalue("world").app
        app.credential_cache._entries.clear()
        app.rates._leases.clear()


def pull(world: World) -> dict[str, Any]:
    return {"name": "agntcy_dir_pull_record", "arguments": {"cid": world.cid}}


async def result(answer: HttpAnswer) -> Any:
    body = await answer.json()
    assert answer.status == 200, body
    assert "error" not in body, body
    assert not body["result"].get("isError"), body
    return body["result"]


READS: dict[str, Callable[[World], HttpAnswer]] = {
    "mcp modern": lambda world: world.modern("tools/call", pull(world), "agntcy_dir_pull_record"),
    "mcp in a session": lambda world: world.rpc("tools/call", pull(world), mcp_session_id=world.sessions["/mcp"]),
    "mcp without a session": lambda world: world.rpc("tools/call", pull(world)),
    "mcp with a key": lambda world: world.rpc("tools/call", pull(world), who="key"),
    "mcp resources": lambda world: world.rpc("resources/list", {}),
    "openregister in a session": lambda world: world.rpc(
        "tools/call",
        {"name": "registers", "arguments": {"action": "list"}},
        "/api/mcp",
        mcp_session_id=world.sessions["/api/mcp"],
    ),
    "a2a": lambda world: world.rpc("GetTask", {"id": world.task}, "/agents/echo", a2a_version="1.0"),
    "a2a of before": lambda world: world.rpc("tasks/get", {"id": world.task}, "/agents/echo"),
}


@pytest.mark.parametrize("wire", READS)
@pytest.mark.requirement("storage:health:reads-go-on")
async def test_reading_over_json_rpc_needs_no_write(world: World, wire: str) -> None:
    assert await result(READS[wire](world))


@pytest.mark.parametrize("who", ["password", "key"])
@pytest.mark.parametrize(
    "path", ["/api/registers", "/api/audit", "/console", "/console/registers", "/console/directory", "/console/agents"]
)
@pytest.mark.requirement("storage:health:reads-go-on")
async def test_reading_over_rest_and_in_the_console_needs_no_write(world: World, path: str, who: str) -> None:
    answer = world.send("GET", path, who=who)
    body = await answer.body()
    assert answer.status == 200, body


@pytest.mark.requirement("storage:health:reads-go-on")
async def test_reading_over_grpc_needs_no_write(world: World) -> None:
    record = await world.grpc.one("StoreService/Pull", core_pb2.RecordRef(cid=world.cid))
    assert record.data["name"]
    found = await world.grpc.all("SearchService/SearchCIDs", search_pb2.SearchCIDsRequest())
    assert found


@pytest.mark.requirement("storage:health:reads-go-on")
async def test_a_client_of_the_handshake_era_begins_without_a_session_and_reads(world: World) -> None:
    begun = world.rpc("initialize", INITIALIZE)
    assert (await result(begun))["serverInfo"]
    assert "mcp-session-id" not in begun.headers
    assert await result(world.rpc("tools/call", pull(world), mcp_protocol_version="2025-11-25"))


def incident_in(text: str) -> str:
    found = re.search(r"incident ([\w-]+)", text)
    assert found is not None, text
    return found[1]


@pytest.mark.requirement("storage:health:full", "incidents:every-wire")
async def test_writing_is_refused_on_every_wire_with_the_number_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    numbers: set[str] = set()
    creation = {"name": "registers", "arguments": {"action": "create", "data": {"title": "X"}}}
    for answer in (
        world.modern("tools/call", creation, "registers"),
        world.rpc("tools/call", creation, mcp_session_id=world.sessions["/mcp"]),
        world.rpc("tools/call", creation),
    ):
        failed = await answer.json()
        assert failed["result"]["isError"] is True
        numbers.add(incident_in(failed["result"]["content"][0]["text"]))
        details = failed["result"]["_meta"]["pentad/error"]["details"]
        assert details["reason"] == "read-only"
        numbers.add(details["incident"])

    rest = world.send("POST", "/api/registers", {"title": "X"})
    told = await rest.json()
    assert rest.status == 503
    assert told["details"]["reason"] == "read-only"
    numbers.add(told["details"]["incident"])

    profile = await world.rpc(
        "tools/call",
        {"name": "registers", "arguments": {"action": "create", "data": {"title": "X"}}},
        "/api/mcp",
        mcp_session_id=world.sessions["/api/mcp"],
    ).json()
    numbers.add(incident_in(profile["result"]["content"][0]["text"]))
    begun = await world.rpc("initialize", INITIALIZE, "/api/mcp").json()
    assert begun["error"]["message"].startswith("Initialize failed: The store cannot write: it is read-only.")
    numbers.add(incident_in(begun["error"]["message"]))

    subscribed = await world.rpc(
        "resources/subscribe", {"uri": "openregister://registers"}, mcp_session_id=world.sessions["/mcp"]
    ).json()
    assert subscribed["error"]["data"]["code"] == "unavailable"
    numbers.add(subscribed["error"]["data"]["details"]["incident"])

    message = {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    sent = await world.rpc("SendMessage", {"message": message}, "/agents/echo", a2a_version="1.0").json()
    assert sent["error"]["data"][0]["metadata"]["incident"] in sent["error"]["message"]
    numbers.add(sent["error"]["data"][0]["metadata"]["incident"])

    vault = {"role": "user", "parts": [{"type": "text", "content": "hello"}]}
    sent = await world.rpc("tasks/send", {"message": vault}, "/agents/echo").json()
    numbers.add(incident_in(sent["error"]["message"]))

    refusal = await world.grpc.refused("StoreService/Push", record_of({**sample("1.0.0"), "version": "v9.9.9"}))
    assert refusal.code is StatusCode.UNAVAILABLE
    numbers.add(incident_in(refusal.text))

    state = await world.send("GET", "/readyz").json()
    assert state["status"] == "degraded"
    (trouble,) = state["store"]["troubles"]
    assert numbers == {trouble["details"]["incident"]}, "one cause, one number, whatever the wire"
    assert not [record for record in caplog.records if record.levelname == "ERROR" and record.exc_info]


@pytest.mark.requirement("storage:health:full", "gateway:readyz")
async def test_a_full_disk_makes_the_server_degraded_and_it_recovers_by_itself(
    make_app: AppMaker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.storage.diagnostics.FRESH_SECONDS", 0.0)
    app = await make_app(rooms=("registers",))
    front = front_of(app)

    async def write() -> Any:
        many = {"title": "X", "description": "y" * 60_000}
        return send(front, "POST", "/api/registers", {"content-type": "application/json"}, json.dumps(many).encode())

    async def ready() -> tuple[int, Any]:
        answer = await send(front, "GET", "/readyz").head()
        return answer.status, await answer.json()

    assert (await ready())[1]["status"] == "ok"
    with full(app.database):  # type: ignore[arg-type]
        told: Any = None
        for _ in range(26):
            answer = await write()
            told = await answer.json()
            assert (answer.status, told["details"]["reason"]) == (503, "disk-full")
            assert "the disk is full" in told["message"]
        lines = [record for record in caplog.records if record.name == "pentad.storage.health"]
        assert [vars(record)["incident"] for record in lines] == [told["details"]["incident"]]
        status, state = await ready()
        assert (status, state["status"]) == (200, "degraded"), "what can still read is not taken out of service"
        assert state["store"]["troubles"][0]["details"]["reason"] == "disk-full"
    status, state = await ready()
    assert (status, state["status"]) == (200, "ok")
    assert "troubles" not in state["store"]
    answer = await write()
    await answer.body()
    assert answer.status == 201


@pytest.mark.requirement("storage:health:damaged", "gateway:readyz")
async def test_a_damaged_page_makes_the_server_fail_as_soon_as_somebody_meets_it(
    make_app: AppMaker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("registers",), auth="none")) as app:
        caller = Caller(LOCAL)
        for number in range(20):
            await app.rooms[0].service.catalogue.registers.create(caller, {"title": f"Books {number}"})
    damage(tmp_path / "pentad.db", "registers")
    app = await make_app(rooms=("registers",))
    front = front_of(app)
    refused = send(front, "GET", "/api/registers")
    told = await refused.json()
    assert refused.status == 500
    assert told["details"]["reason"] == "damaged"
    answer = send(front, "GET", "/readyz")
    state = await answer.json()
    assert (answer.status, state["status"]) == (503, "failing")
    details = state["store"]["troubles"][0]["details"]
    assert details == told["details"]
    assert details["incident"] in caplog.text
    read = await send(front, "POST", "/mcp", {"content-type": "application/json"}, LISTING).json()
    assert details["incident"] in read["error"]["message"]


@pytest.mark.requirement("gateway:readyz")
async def test_a_store_that_does_not_answer_makes_the_server_fail(
    make_app: AppMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(db: Database) -> Store:
        return Store(db.dialect, trouble=Unavailable("The store is closed."))

    monkeypatch.setattr("pentad.storage.diagnostics.probe_store", away)
    answer = send(front_of(await make_app()), "GET", "/readyz")
    state = await answer.json()
    assert (answer.status, state["status"]) == (503, "failing")
    assert state["store"]["troubles"] == [{"code": "unavailable", "message": "The store is closed."}]
