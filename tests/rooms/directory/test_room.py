"""The whole room: settings, rights, both stores, several processes, and closing."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.http.grpc_port import open_ports
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.room import ROOM
from pentad.settings.model import Settings
from tests.behaviour.clients import Wire
from tests.behaviour.connecting import connect_http
from tests.ports import free_port
from tests.rooms.directory.oasf.samples import SAMPLES, sample
from tests.rooms.directory.records.parts import agent
from tests.stores import PostgresServer

pytestmark = pytest.mark.anyio

SCOPES = {"writer": ["directory:read", "directory:write"], "reader": ["directory:read"], "stranger": ["registers:*"]}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.fresh_database()


def settings(data: Path, database: str | None = None, **own: Any) -> Settings:
    return Settings(data=data, database=database, rooms=("directory",), auth="none", room_tables={"directory": own})


@contextlib.asynccontextmanager
async def opened(data: Path, database: str | None = None, **own: Any) -> AsyncGenerator[App]:
    async with open_app(settings(data, database, **own)) as app:
        yield app


async def call(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    async with app.client() as client:
        result = await client.call_tool(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]


async def test_the_tools_work_on_both_stores(tmp_path: Path, database: str | None) -> None:
    async with opened(tmp_path, database) as app:
        cids = {
            version: (await call(app, "agntcy_dir_push_record", record_json=json.dumps(sample(version))))["cid"]
            for version in SAMPLES
        }
        found = await call(app, "agntcy_dir_search_local", query="research papers", latest=False)
        assert set(found["record_cids"]) == set(cids.values())
        found = await call(app, "agntcy_dir_search_local", query="research papers")
        assert found["record_cids"] == [list(cids.values())[-1]], "of one name and version, the record pushed last"
        steps = (await call(app, "directory_lineage", reference=cids["0.8.0"]))["records"]
        assert {one["cid"] for one in steps} >= {cids["0.8.0"]}
        await call(app, "directory_sign", reference=cids["1.1.0"])
        assert (await call(app, "agntcy_dir_verify_record", cid=cids["1.1.0"]))["success"] is True
        assert (await call(app, "agntcy_dir_search_local", trusted=True))["record_cids"] == [cids["1.1.0"]]
        assert (await call(app, "directory_delete", reference=cids["0.3.1"]))["deleted"] is True
    async with opened(tmp_path, database) as app:
        assert (await call(app, "agntcy_dir_search_local", names=["*"]))["total_count"] == len(SAMPLES) - 1
        assert (await call(app, "agntcy_dir_verify_record", cid=cids["1.1.0"]))["success"] is True, "it was kept"


async def test_several_processes_are_one_directory(tmp_path: Path, database: str | None) -> None:
    async with opened(tmp_path, database) as one, opened(tmp_path, database) as other, other.client() as client:
        pushed = await call(one, "agntcy_dir_push_record", record_json=json.dumps(agent()))
        pulled = await client.call_tool("agntcy_dir_pull_record", {"cid": pushed["cid"]})
        assert pulled["structuredContent"].keys() == {"record_data"}
        first, second = await asyncio.gather(
            call(one, "directory_sign", reference=pushed["cid"]),
            call(other, "directory_sign", reference=pushed["cid"]),
        )
        assert first["public_key"] == second["public_key"], "one server, one key"


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"default_version": "9.9.9"}, "default_version"),
        ({"sync_networks": ["somewhere"]}, "sync_networks"),
        ({"schema_url": "http://"}, "OASF"),
        ({"client_server_address": "nowhere"}, "SERVER_ADDRESS"),
        ({"client_server_address": "127.0.0.1:1", "client_auth_mode": "magic"}, "magic"),
    ],
)
async def test_a_wrong_setting_is_told_when_the_room_is_opened(
    tmp_path: Path, own: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Misconfigured) as told:
        async with opened(tmp_path, **own):
            pass
    assert problem in told.value.sentence()


async def test_settings_say_the_default_version_and_where_syncs_may_go(tmp_path: Path) -> None:
    async with opened(
        tmp_path, default_version="0.8.0", sync_hosts="node-a, node-b", sync_networks="10.0.0.0/8"
    ) as app:
        assert (await call(app, "agntcy_oasf_list_versions"))["default_version"] == "0.8.0"


async def test_who_may_read_may_not_write(tmp_path: Path) -> None:
    chosen = Settings(data=tmp_path, rooms=("directory",), auth="required")
    async with open_app(chosen) as app:
        keys = {name: (await app.api_keys.create(name, scopes=scopes)).token for name, scopes in SCOPES.items()}

        async def attempt(who: str, tool: str, **arguments: Any) -> tuple[bool, str]:
            client = await connect_http(app, Wire("session", "2025-11-25"), authorization=f"Bearer {keys[who]}")
            reply = await client.call(tool, arguments)
            await client.close()
            if "error" in reply.final:
                return False, reply.final["error"]["message"]
            return not reply.result["isError"], reply.text

        data = json.dumps(agent())
        card = json.dumps({"name": "Route planner", "version": "1.0.0", "description": "Plans delivery routes."})
        good, told = await attempt("writer", "agntcy_dir_push_record", record_json=data)
        assert good
        cid = json.loads(told)["cid"]
        assert (await attempt("reader", "agntcy_dir_pull_record", cid=cid))[0]
        assert (await attempt("reader", "agntcy_oasf_import_record", source_data=card, source_format="a2a"))[0]
        refused = [
            await attempt("reader", "agntcy_dir_push_record", record_json=data),
            await attempt("reader", "agntcy_oasf_import_record", source_data=card, source_format="a2a", push=True),
            await attempt("reader", "directory_import", sources=[{"content": card}]),
            await attempt("reader", "directory_sign", reference=cid),
            await attempt("reader", "directory_delete", reference=cid),
            await attempt("stranger", "agntcy_dir_pull_record", cid=cid),
            await attempt("stranger", "agntcy_oasf_list_versions"),
        ]
        assert [good for good, _ in refused] == [False] * len(refused)
        assert "directory:write" in refused[1][1]


@pytest.mark.requirement("dir:delete:rights")
async def test_a_record_is_deleted_over_http_by_its_author_or_an_administrator_alone(tmp_path: Path) -> None:
    chosen = Settings(data=tmp_path, rooms=("directory",), auth="required")
    scopes = {"author": SCOPES["writer"], "other": SCOPES["writer"], "admin": ["directory:*"]}
    async with open_app(chosen) as app:
        keys = {name: (await app.api_keys.create(name, scopes=given)).token for name, given in scopes.items()}

        async def answer(who: str, tool: str, **arguments: Any) -> Any:
            client = await connect_http(app, Wire("session", "2025-11-25"), authorization=f"Bearer {keys[who]}")
            reply = await client.call(tool, arguments)
            await client.close()
            return reply.text if reply.result["isError"] else reply.result["structuredContent"]

        for allowed in ("author", "admin"):
            cid = (await answer("author", "agntcy_dir_push_record", record_json=json.dumps(agent())))["cid"]
            assert "someone else's" in await answer("other", "directory_delete", reference=cid)
            assert await answer(allowed, "directory_delete", reference=cid) == {"cid": cid, "deleted": True}


async def test_the_room_serves_grpc_and_tells_its_health(tmp_path: Path) -> None:
    port = free_port()
    chosen = Settings(data=tmp_path, rooms=("directory",), auth="none", grpc_port=port)
    async with open_app(chosen) as app, open_ports(app):
        service = app.rooms[0].service
        pushed = await service.records.push(LOCAL, agent())
        async with opened(tmp_path / "other", client_server_address=f"127.0.0.1:{port}") as other:
            answer = await call(other, "agntcy_dir_pull_record", cid=pushed.cid)
            assert json.loads(answer["record_data"])
        assert ROOM.health is not None
        assert await ROOM.health(service) == {"records": 1}


async def test_the_demo_can_be_filled_twice(tmp_path: Path) -> None:
    assert ROOM.demo is not None
    async with opened(tmp_path) as app:
        service = app.rooms[0].service
        await ROOM.demo(service)
        count = await service.records.count()
        assert count >= 40
        await ROOM.demo(service)
        assert await service.records.count() == count
