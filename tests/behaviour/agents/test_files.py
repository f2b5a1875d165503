"""Files over HTTP: uploaded in chunks, referenced in every dialect, and readable only by their owner."""

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.principal import Principal
from pentad.mcp.http_exchange import HttpExchange
from pentad.settings.model import Settings
from tests.behaviour.agents.conftest import Wire
from tests.behaviour.agents.test_jsonrpc import any_id
from tests.behaviour.http_wire import HttpAnswer, send
from tests.waiting import until, until_true

pytestmark = pytest.mark.anyio
PATH = "/api/agents/files"
UPLOAD = "/api/agents/upload"
COPIER = "/agents/copier"
LIMIT = 3 * 1024 * 1024
BODY = b"0123456789" * 250_000


class Site:
    """A server with a login, and callers with their own keys."""

    def __init__(self, app: App, keys: dict[str, str]) -> None:
        self.app = app
        self.keys = keys
        self.wire = Wire(app)

    def request(self, verb: str, path: str, who: str, body: bytes | list[bytes] = b"", **headers: str) -> HttpAnswer:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        key = {"x-api-key": self.keys[who]} if who else {}
        return send(self.wire.front, verb, path, {**key, **given}, body)

    async def upload(self, who: str = "ada", body: bytes = BODY) -> dict[str, Any]:
        chunks = [body[start : start + 100_000] for start in range(0, len(body), 100_000)] or [b""]
        answer = self.request("POST", f"{UPLOAD}?name=big.txt", who, chunks, content_type="text/plain")
        made = await answer.json()
        assert (answer.status, answer.headers["location"]) == (201, made["url"])
        return made

    async def call(self, method: str, params: Any, who: str = "ada") -> Any:
        return await self.wire.call(method, params, COPIER, x_api_key=self.keys[who])


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    settings = Settings(
        data=tmp_path_factory.mktemp("files"),
        rooms=("agents",),
        agent=("tests.rooms.agents.interface.agents:Copier",),
        room_tables={"agents": {"file_bytes": LIMIT}},
    )
    async with open_app(settings) as app:
        scopes = {"ada": ["agents:read", "agents:write"], "oda": ["*:*"], "reader": ["agents:read"], "none": ["x:read"]}
        keys = {name: (await app.api_keys.create(name, scopes=given)).token for name, given in scopes.items()}
        yield Site(app, keys)


@pytest.mark.requirement("agents:files:upload")
async def test_a_file_is_uploaded_listed_downloaded_and_deleted(site: Site) -> None:
    made = await site.upload()
    assert made["url"] == f"http://localhost:8700{PATH}/{made['id']}"
    assert (made["name"], made["mediaType"], made["size"]) == ("big.txt", "text/plain", len(BODY))
    assert made["sha256"] == hashlib.sha256(BODY).hexdigest()
    listed = await site.request("GET", PATH, "ada").json()
    assert made in listed["files"]
    download = site.request("GET", f"{PATH}/{made['id']}", "ada")
    chunks = [chunk async for chunk in download.chunks()]
    assert b"".join(chunks) == BODY
    assert max(map(len, chunks)) < len(BODY)
    assert download.headers["content-disposition"] == "attachment; filename*=UTF-8''big.txt"
    assert download.headers["x-content-type-options"] == "nosniff"
    head = site.request("HEAD", f"{PATH}/{made['id']}", "ada")
    assert (await head.body(), head.headers["content-length"]) == (b"", str(len(BODY)))
    assert (await site.request("DELETE", f"{PATH}/{made['id']}", "ada").head()).status == 204
    assert (await site.request("GET", f"{PATH}/{made['id']}", "ada").head()).status == 404


@pytest.mark.requirement("agents:files:owner")
async def test_files_are_their_owners_alone(site: Site) -> None:
    made = await site.upload()
    for who, verb, path, status in (
        ("", "POST", UPLOAD, 401),
        ("ada", "GET", UPLOAD, 405),
        ("", "GET", f"{PATH}/{made['id']}", 401),
        ("reader", "POST", UPLOAD, 403),
        ("none", "GET", PATH, 403),
        ("oda", "GET", f"{PATH}/{made['id']}", 404),
        ("oda", "DELETE", f"{PATH}/{made['id']}", 404),
        ("reader", "GET", f"{PATH}/{made['id']}", 404),
        ("ada", "GET", f"{PATH}/{'0' * 36}", 404),
        ("ada", "GET", f"{PATH}/../files/{made['id']}", 404),
        ("ada", "PUT", f"{PATH}/{made['id']}", 405),
    ):
        assert (await site.request(verb, path, who, b"x").head()).status == status, (who, verb, path)
    message = {"messageId": any_id(), "role": "ROLE_USER", "parts": [{"url": made["url"]}]}
    refused = await site.wire.refused("SendMessage", {"message": message}, COPIER, x_api_key=site.keys["oda"])
    assert "There is no file" in refused["message"]
    assert (await site.request("GET", f"{PATH}/{made['id']}", "ada").head()).status == 200


@pytest.mark.requirement("agents:files:limits")
async def test_an_upload_that_is_too_large_or_odd_is_refused(site: Site) -> None:
    before = await site.request("GET", PATH, "ada").json()
    declared = site.request("POST", UPLOAD, "ada", b"x", content_length=str(LIMIT + 1))
    assert (await declared.head()).status == 413
    streamed = site.request("POST", UPLOAD, "ada", [b"x" * 1_000_000] * 4)
    assert (await streamed.head()).status == 413
    encoded = site.request("POST", UPLOAD, "ada", b"x", content_encoding="gzip")
    assert (await encoded.head()).status == 422
    page = site.request("POST", UPLOAD, "ada", b"x", content_type="text/plain", origin="http://localhost:8700")
    assert (await page.head()).status == 415
    assert await site.request("GET", PATH, "ada").json() == before


@pytest.mark.requirement("agents:files:upload")
async def test_an_upload_the_client_gives_up_leaves_nothing(site: Site) -> None:
    before = await site.request("GET", PATH, "ada").json()
    answer = site.request("POST", UPLOAD, "ada")
    answer._to_send = Halting([b"x" * 1_500_000])
    await answer.leave()
    assert answer._to_send == []
    assert await site.request("GET", PATH, "ada").json() == before


@pytest.mark.requirement("agents:files:owner")
async def test_a_caller_that_loses_its_rights_during_an_upload_stores_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await site.request("GET", PATH, "ada").json()

    async def fewer_rights(exchange: HttpExchange) -> Principal:
        return Principal(exchange.principal.id, "ada", frozenset({"agents:read"}))

    monkeypatch.setattr(HttpExchange, "principal_now", fewer_rights)
    assert (await site.request("POST", UPLOAD, "ada", b"x").head()).status == 403
    assert await site.request("GET", PATH, "ada").json() == before


@pytest.mark.requirement("agents:files:limits")
async def test_a_caller_has_a_few_uploads_at_the_same_time(site: Site) -> None:
    slow: list[HttpAnswer] = []
    for _ in range(8):
        slow.append(site.request("POST", UPLOAD, "ada"))
        slow[-1]._to_send = Halting([b"x"])
    await until_true(lambda: all(one._to_send == [] for one in slow))
    assert (await site.request("POST", UPLOAD, "ada", b"x").head()).status == 503
    assert (await site.request("POST", UPLOAD, "oda", b"x").head()).status == 201
    for one in slow:
        await one.leave()
    assert (await site.request("POST", UPLOAD, "ada", b"x").head()).status == 201


class Halting(list[bytes]):
    """One chunk, followed by another that is announced but never arrives."""

    asked = 0

    def __bool__(self) -> bool:
        self.asked += 1
        return self.asked <= 2


def told(artifact: dict[str, Any]) -> str:
    """The URL of an artifact in any dialect."""
    if "parts" not in artifact:
        return artifact["url"]
    (part,) = artifact["parts"]
    return part["url"] if "url" in part else part["file"]["uri"]


@pytest.mark.requirement("agents:files:dialects")
@pytest.mark.parametrize("dialect", ["1.0", "http", "0.3", "agentvault"])
async def test_files_go_to_agents_and_back_in_every_dialect(site: Site, dialect: str) -> None:
    made = await site.upload()
    key = {"x_api_key": site.keys["ada"]}
    if dialect == "1.0":
        message = {"messageId": any_id(), "role": "ROLE_USER", "parts": [{"url": made["url"]}]}
        task = (await site.call("SendMessage", {"message": message}))["task"]
    elif dialect == "http":
        message = {"messageId": any_id(), "role": "ROLE_USER", "parts": [{"url": made["url"]}]}
        task = (await site.wire.rest("POST", f"{COPIER}/message:send", {"message": message}, **key).json())["task"]
    elif dialect == "0.3":
        part = {"kind": "file", "file": {"uri": made["url"]}}
        message = {"kind": "message", "messageId": any_id(), "role": "user", "parts": [part]}
        task = await site.call("message/send", {"message": message})
    else:
        message = {"role": "user", "parts": [{"type": "file", "url": made["url"]}]}
        sent = await site.call("tasks/send", {"message": message})
        task = await until(
            lambda: site.call("tasks/get", {"id": sent["id"]}), lambda found: found["state"] == "COMPLETED"
        )
    expected = {"name": "big.txt", "type": "text/plain", "size": len(BODY), "sha256": made["sha256"]}
    assert json.dumps(expected, separators=(",", ":")) in json.dumps(task, separators=(",", ":"))
    url = told(task["artifacts"][0])
    assert url != made["url"]
    path = url.removeprefix("http://localhost:8700")
    assert await site.request("GET", path, "ada").body() == BODY
    assert (await site.request("GET", path, "oda").head()).status == 404
