"""The feed of events over HTTP and MCP: what each room reports, to whom, and how an interrupted stream resumes."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from pentad.administration import access_events
from pentad.app import App, open_app
from pentad.events.feed import URI
from pentad.http import events
from pentad.jobs.job import GiveUp, Job, JobRun
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.changes import Change
from pentad.mcp.subscription_access import may_receive
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN, HttpClient
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import Event, HttpAnswer, send
from tests.http.browsing import Browser
from tests.http.conftest import UNHURRIED
from tests.http.test_administration import PASSWORD, basic
from tests.stores import app_database
from tests.waiting import until

pytestmark = pytest.mark.anyio

ROOMS = ("registers", "agents", "directory")


@dataclass
class Site:
    app: App

    async def page(self, who: str, query: str = "") -> tuple[int, Any]:
        answer = send(front_of(self.app), "GET", f"/api/events{query}", basic(who) if who else {})
        body = await answer.body()
        return answer.status, json.loads(body)

    async def told(self, who: str, query: str = "") -> list[tuple[str, str]]:
        status, found = await self.page(who, query)
        assert status == 200, found
        return [(one["type"], one.get("subject", "")) for one in found["events"]]

    def stream(self, who: str, query: str = "", **headers: str) -> HttpAnswer:
        headers = {**basic(who), "accept": "text/event-stream", **headers}
        return send(front_of(self.app), "GET", f"/api/events{query}", headers)

    async def client(self, who: str) -> HttpClient:
        return await connect_http(self.app, HTTP_MODERN, None, **basic(who))

    async def permits(self, who: str) -> "Permits":
        client = await self.client(who)
        register = await client.call("registers", {"action": "create", "data": {"title": "Permits"}})
        schema = await client.call(
            "schemas",
            {"action": "create", "data": {"title": "permit", "properties": {"name": {"type": "string"}}}},
        )
        ids = [json.loads(one.result["content"][0]["text"])["id"] for one in (register, schema)]
        return Permits(client, *ids)


@dataclass
class Permits:
    client: HttpClient
    register: int
    schema: int

    async def create(self, name: str) -> str:
        given = {"action": "create", "register": self.register, "schema": self.schema, "data": {"name": name}}
        reply = await self.client.call("objects", given)
        made = json.loads(reply.result["content"][0]["text"])
        return f"openregister://objects/{self.register}/{self.schema}/{made.get('uuid') or made['id']}"


async def first_event(events: AsyncIterator[Event]) -> Event:
    """The first event of a stream, after those about the stream itself."""
    while not (event := await anext(events)).data:
        pass
    return event


@pytest.fixture(params=["sqlite", "postgres"])
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(app_database(request, ROOMS))
        settings = Settings(data=tmp_path_factory.mktemp("site"), database=database, rooms=ROOMS, limits=UNHURRIED)
        app = await stack.enter_async_context(open_app(settings))
        await app.users.add("root", PASSWORD, role="admin")
        await app.users.add("ada", PASSWORD, role="writer")
        await app.users.add("oda", PASSWORD, role="writer")
        yield Site(app)


@pytest.mark.requirement("events:feed", "events:rights")
async def test_rooms_tell_what_happened_to_those_who_may_know(site: Site) -> None:
    permits = await site.permits("ada")
    uri = await permits.create("first")
    task = (await permits.client.call("agents_send_task", {"agent": "echo", "text": "hi"})).result["structuredContent"]
    told = await site.told("ada")
    assert ("registers.object.created", uri) in told
    assert ("agents.task.completed", f"agents://tasks/{task['task_id']}") in told
    others = await site.told("oda")
    assert not any(kind.startswith("agents.") for kind, _ in others)
    assert (await site.page(""))[0] == 401
    (event,) = (await site.page("ada", "?kind=task.completed"))[1]["events"]
    assert (event["source"], event["principal"], event["data"]) == ("/rooms/agents", "user:ada", {"agent": "echo"})
    assert event["traceparent"].startswith("00-")


@pytest.mark.requirement("events:rights")
async def test_logins_and_administration_are_told_to_readers_of_the_trail(site: Site) -> None:
    await make_key(site)
    await site.app.audit.flush()
    _, found = await site.page("root", "?room=access")
    assert "key created" in [one["data"]["action"] for one in found["events"]]
    assert (await site.told("ada", "?room=access")) == []


@pytest.mark.requirement("events:logins")
async def test_logins_in_a_browser_and_failed_ones_are_told_but_calls_are_not(site: Site) -> None:
    browser = Browser(front_of(site.app))
    assert (await browser.log_in("ada", "wrong")).status == 401
    assert (await browser.log_in("ada")).status == 303
    await browser.get("/console/admin")
    await site.app.audit.flush()
    _, found = await site.page("root", "?room=access")
    logins = [(one["subject"], one["data"]) for one in found["events"] if one["data"]["action"] == "login"]
    assert logins == [
        ("user:ada", {"action": "login", "outcome": "unauthenticated", "reason": "password"}),
        ("user:ada", {"action": "login", "outcome": "ok", "reason": "password"}),
    ]
    assert not any(one["data"]["action"].startswith(("GET", "POST")) for one in found["events"])


@pytest.mark.requirement("events:logins")
async def test_the_latest_logins_are_the_last_ones_of_their_log(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_events, "_BATCHES", 2)
    for number in range(9):
        site.app.audit.event(LOCAL, "key revoked", target=f"key:{number}")
        if number % 4 == 0:
            await site.app.audit.flush()
    for limit in (1, 3, 4, 5, 9):
        latest = [one.subject for one in await site.app.events.latest(LOCAL, limit) if one.room == "access"]
        assert latest[:9] == [f"key:{number}" for number in range(8, 8 - limit, -1)]
    _, found = await site.page("root", "?room=access")
    revoked = [one["subject"] for one in found["events"] if one["data"]["action"] == "key revoked"]
    assert revoked == [f"key:{number}" for number in range(9)]


@pytest.mark.requirement("events:rights", "events:feed")
async def test_a_dead_job_is_told_to_administrators(site: Site) -> None:
    async def fails(_service: Any, run: JobRun) -> None:
        raise GiveUp("never")

    from pentad.app import emit_dead_job
    from pentad.jobs.workers import Workers

    workers = Workers(site.app.jobs, on_dead=emit_dead_job)
    workers.add([Job("agents.lost", fails)], None)
    workers.start()
    await site.app.database.write(lambda tx: site.app.jobs.enqueue(tx, "agents.lost"))
    await until(lambda: site.told("root", "?kind=job.dead"), lambda found: len(found) == 1)
    await workers.stop()
    assert await site.told("ada", "?kind=job.dead") == []


@pytest.mark.requirement("events:feed")
async def test_filters_and_cursors_of_a_request(site: Site) -> None:
    permits = await site.permits("ada")
    uris = [await permits.create(name) for name in ("one", "two", "three")]
    status, first = await site.page("ada", "?kind=object.created&limit=2")
    assert (status, [one["subject"] for one in first["events"]], first["has_more"]) == (200, uris[:2], True)
    rest = await site.told("ada", f"?kind=object.created&cursor={first['cursor']}")
    assert rest == [("registers.object.created", uris[2])]
    assert await site.told("ada", f"?subject={uris[1]}") == [("registers.object.created", uris[1])]
    assert await site.told("ada", "?cursor=now") == []
    for wrong in ("?cursor=x", "?kind=object.creatd", "?room=attic", "?limit=0", "?since=soon"):
        assert (await site.page("ada", wrong))[0] == 422, wrong
    _, kinds = await site.page("ada", "/kinds")
    assert "object.created" in kinds["rooms"]["registers"]


@pytest.mark.requirement("events:stream")
async def test_a_stream_tells_what_happens_and_goes_on_where_it_was_lost(site: Site) -> None:
    permits = await site.permits("ada")
    await permits.create("before")
    stream = site.stream("ada", "?room=registers")
    await stream.head()
    first = await permits.create("first")
    event = await first_event(stream.events())
    assert json.loads(event.data)["subject"] == first
    await stream.leave()
    second = await permits.create("second")
    again = site.stream("ada", "?room=registers", **{"last-event-id": event.id or ""})
    event = await first_event(again.events())
    assert json.loads(event.data)["subject"] == second
    await again.leave()
    assert (await site.page("oda", "?cursor=now"))[0] == 200


@pytest.mark.requirement("events:stream")
async def test_a_stream_tells_what_happens_right_after_its_head(site: Site) -> None:
    permits = await site.permits("ada")
    made: list[str] = []

    async def create() -> None:
        made.append(await permits.create("at once"))

    stream = site.stream("ada", "?kind=object.created")
    stream.on_start = create
    told = await first_event(stream.events())
    assert [json.loads(told.data)["subject"]] == made
    await stream.leave()


async def send_task(site: Site) -> None:
    await (await site.client("root")).call("agents_send_task", {"agent": "echo", "text": "hi"})


async def make_key(site: Site) -> None:
    headers = {**basic("root"), "content-type": "application/json"}
    body = json.dumps({"label": "k", "owner": "root"}).encode()
    await send(front_of(site.app), "POST", "/api/admin/keys", headers, body).body()


@pytest.mark.requirement("events:told")
@pytest.mark.parametrize(
    ("cause", "query", "kind"),
    [(send_task, "?room=agents", "agents.task.completed"), (make_key, "?room=access", "access.reported")],
)
async def test_a_stream_does_not_wait_for_the_next_change_of_a_resource(
    site: Site, monkeypatch: pytest.MonkeyPatch, cause: Callable[[Site], Awaitable[None]], query: str, kind: str
) -> None:
    monkeypatch.setattr(events, "KEEP_ALIVE_SECONDS", 3_600.0)
    stream = site.stream("root", query)
    await stream.head()
    await cause(site)
    told = await first_event(stream.events())
    assert json.loads(told.data)["type"] == kind
    await stream.leave()


@pytest.mark.requirement("events:stream")
async def test_a_stream_with_a_wrong_cursor_is_refused(site: Site) -> None:
    answer = site.stream("ada", **{"last-event-id": "x"})
    await answer.body()
    assert answer.status == 422


@pytest.mark.requirement("events:mcp")
async def test_the_feed_is_a_resource(site: Site) -> None:
    permits = await site.permits("ada")
    reply = await permits.client.request("resources/read", {"uri": URI})
    cursor = json.loads(reply.result["contents"][0]["text"])["cursor"]
    uri = await permits.create("new")
    reply = await permits.client.request("resources/read", {"uri": f"{URI}/{cursor}"})
    page = json.loads(reply.result["contents"][0]["text"])
    assert [one["subject"] for one in page["events"]] == [uri]


@pytest.mark.requirement("events:mcp", "events:told")
async def test_streams_of_one_subscriber_are_told(site: Site) -> None:
    permits = await site.permits("ada")
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(permits.client.following(uris=(URI,))) for _ in range(2)]
        for name in ("first", "second"):
            await permits.create(name)
            for one in streams:
                await one.wait_for("notifications/resources/updated")


@pytest.mark.requirement("events:mcp", "events:told", "events:rights")
async def test_a_change_is_told_to_every_stream_however_late_and_to_nobody_who_may_not_see_it(site: Site) -> None:
    permits, rights = await site.permits("ada"), frozenset({"agents:read", "registers:read"})

    async def told(before: str, *names: str) -> list[bool]:
        async def principal(name: str) -> Principal:
            return Principal(f"user:{name}", name, rights)

        change = Change("resource", URI, audience=before)
        return [await may_receive(site.app.all_rooms.registry, change, partial(principal, name)) for name in names]

    first = await site.app.events.now()
    await permits.client.call("agents_send_task", {"agent": "echo", "text": "hi"})
    assert await told(first, "ada", "ada", "oda") == [True, True, False]
    second = await site.app.events.now()
    await permits.create("for all")
    assert await told(second, "ada", "ada", "oda") == [True, True, True]
    assert await told(first, "ada") == [True], "a slow stream is told of the first as well"
