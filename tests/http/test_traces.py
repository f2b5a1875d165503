"""One trace: a request and everything it caused, visible to those who may read it."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from pentad.administration.traces import MOST_SPANS
from pentad.app import App, open_app
from pentad.kernel.trace import RequestMark, request_mark, resolve_trace_id
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN, Wire
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.http.conftest import UNHURRIED
from tests.http.test_administration import PASSWORD, basic
from tests.stores import app_database

pytestmark = pytest.mark.anyio

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
LEGACY = Wire("session", "2025-11-25")


@dataclass
class Site:
    app: App

    async def read(self, who: str, trace: str) -> tuple[int, Any]:
        answer = send(front_of(self.app), "GET", f"/api/traces/{trace}", basic(who) if who else {})
        body = await answer.body()
        return answer.status, json.loads(body)

    async def spans(self, who: str, trace: str) -> list[tuple[str, str, str]]:
        status, found = await self.read(who, trace)
        assert status == 200, found
        return [(one["kind"], one["name"], one["principal"]) for one in found["spans"]]

    async def send_task(self, who: str, wire: Wire = HTTP_MODERN, meta: Any = None, **headers: str) -> dict[str, Any]:
        client = await connect_http(self.app, wire, {}, **basic(who), **headers)
        reply = await client.call("agents_send_task", {"agent": "echo", "text": "hello"}, meta=meta)
        return reply.result["structuredContent"]


@pytest.fixture(params=["sqlite", "postgres"])
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(app_database(request, ("agents",)))
        settings = Settings(
            data=tmp_path_factory.mktemp("site"), database=database, rooms=("agents",), limits=UNHURRIED
        )
        app = await stack.enter_async_context(open_app(settings))
        await app.users.add("root", PASSWORD, role="admin")
        await app.users.add("ada", PASSWORD, role="writer")
        await app.users.add("oda", PASSWORD, role="writer")
        yield Site(app)


@pytest.mark.requirement("trace:one")
@pytest.mark.parametrize("wire", [HTTP_MODERN, LEGACY], ids=str)
async def test_the_id_of_a_request_leads_to_its_call_and_the_task_it_started(site: Site, wire: Wire) -> None:
    task = await site.send_task("ada", wire, **{"x-request-id": "order-66"})
    spans = await site.spans("ada", "order-66")
    assert ("call", "agents_send_task", "user:ada") in spans
    assert ("task", "echo", "user:ada") in spans
    _, found = await site.read("ada", resolve_trace_id("order-66"))
    (call,) = [one for one in found["spans"] if one["name"] == "agents_send_task"]
    (started,) = [one for one in found["spans"] if one["kind"] == "task"]
    assert (started["parent_span_id"], started["depth"]) == (call["span_id"], call["depth"] + 1)
    assert started["resource"] == f"agents://tasks/{task['task_id']}"
    assert not found["is_running"]


@pytest.mark.requirement("trace:one")
@pytest.mark.parametrize("wire", [HTTP_MODERN, LEGACY], ids=str)
async def test_a_message_that_names_a_trace_belongs_to_it(site: Site, wire: Wire) -> None:
    await site.send_task("ada", wire, {"traceparent": PARENT})
    spans = await site.spans("ada", TRACE)
    assert {("call", "agents_send_task", "user:ada"), ("task", "echo", "user:ada")} <= set(spans)


@pytest.mark.requirement("trace:rights")
async def test_others_see_nothing_of_a_trace_and_the_readers_of_the_trail_see_all(site: Site) -> None:
    await site.send_task("ada", traceparent=PARENT)
    assert (await site.read("oda", TRACE))[0] == 404
    assert (await site.read("oda", "b" * 32))[0] == 404
    assert (await site.read("", TRACE))[0] == 401
    await site.send_task("oda", traceparent=PARENT)
    assert {who for _, _, who in await site.spans("oda", TRACE)} == {"user:oda"}
    assert {who for _, _, who in await site.spans("root", TRACE)} == {"user:oda", "user:ada"}
    assert [one.principal for one in await site.app.audit.recent(tool="trace read")] == []
    await site.app.audit.flush()
    (told,) = await site.app.audit.recent(tool="trace read")
    assert (told.principal, told.target) == ("user:root", TRACE)


@pytest.mark.requirement("trace:one")
async def test_a_request_with_both_headers_is_found_by_either(site: Site) -> None:
    headers = {**basic("ada"), "traceparent": PARENT, "x-request-id": "order-67"}
    await send(front_of(site.app), "GET", "/api/account", headers).body()
    for asked in (TRACE, PARENT, "order-67"):
        assert ("call", "GET /api/account", "user:ada") in await site.spans("ada", asked)


@pytest.mark.requirement("trace:jobs", "trace:rights")
async def test_a_job_that_waits_is_part_of_its_trace_for_its_owner_alone(site: Site) -> None:
    client = await connect_http(site.app, HTTP_MODERN, {}, **basic("ada"), traceparent=PARENT)
    await client.call("agents_list")
    mark = request_mark.set(RequestMark("1", TRACE, PARENT, principal="user:ada"))
    try:
        await site.app.database.write(lambda tx: site.app.jobs.enqueue(tx, "agents.later", run_at=4e9))
    finally:
        request_mark.reset(mark)
    _, found = await site.read("ada", TRACE)
    (job,) = [one for one in found["spans"] if one["kind"] == "job"]
    assert (job["name"], job["outcome"], job["parent_span_id"]) == ("agents.later", "queued", PARENT[36:52])
    assert found["is_running"]
    assert (await site.read("oda", TRACE))[0] == 404
    assert ("job", "agents.later", "user:ada") in await site.spans("root", TRACE)


@pytest.mark.requirement("trace:one")
async def test_a_long_trace_says_that_it_is_incomplete(site: Site) -> None:
    entry = (1e9, "user:ada", "agents", "agents_list", "ok", 5, "1", "", "http", TRACE, "", "")
    for _ in range(MOST_SPANS + 5):
        site.app.audit.record(entry)  # pyright: ignore[reportArgumentType]  calls are plain tuples
    status, found = await site.read("ada", TRACE)
    assert (status, len(found["spans"])) == (200, MOST_SPANS)
    assert "incomplete" in found


@pytest.mark.requirement("trace:page")
async def test_the_page_shows_the_timeline_and_the_trail_leads_to_it(site: Site) -> None:
    await site.send_task("ada", traceparent=PARENT)
    page = (await send(front_of(site.app), "GET", f"/console/traces/{TRACE}", basic("ada")).body()).decode()
    assert "agents_send_task" in page
    assert "task echo" in page
    assert await status_of(site, f"/console/traces/{TRACE}", "oda") == 404
    await site.app.audit.flush()
    trail = (await send(front_of(site.app), "GET", "/console/audit", basic("root")).body()).decode()
    assert f"/console/traces/{TRACE}" in trail


async def status_of(site: Site, path: str, who: str) -> int:
    answer = send(front_of(site.app), "GET", path, basic(who))
    await answer.body()
    return answer.status
