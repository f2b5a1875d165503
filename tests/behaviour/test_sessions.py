"""Sessions of the handshake era over HTTP: whose they are, how long they live, and how they end."""

import asyncio
import gc
import string
import tracemalloc

import pytest

from pentad.kernel.default_limits import Limits
from pentad.mcp.revisions import NEWEST_LEGACY
from tests.behaviour.clients import HTTP_MODERN, LEGACY, SESSION, HttpClient, Wire, wire_name
from tests.behaviour.clocks import TurnedClock
from tests.behaviour.connecting import AppMaker, Connect, connect_http
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio

ON_SESSIONS = pytest.mark.parametrize("wire", [SESSION], ids=wire_name)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


async def a_session(connect: Connect) -> HttpClient:
    client = await connect()
    assert isinstance(client, HttpClient)
    return client


async def with_session_id(client: HttpClient, session_id: str) -> HttpAnswer:
    answer = client.post(LIST, {**client.headers(), "mcp-session-id": session_id})
    await answer.body()
    return answer


@pytest.mark.parametrize("wire", [Wire("session", name) for name in LEGACY], ids=wire_name)
@pytest.mark.requirement("mcp:initialize:negotiation", "mcp:initialize:server-info")
async def test_the_revision_asked_for_is_agreed_upon(connect: Connect, wire: Wire) -> None:
    client = await a_session(connect)
    assert client.server["protocolVersion"] == wire.revision
    known = {"name", "version"}
    if wire.revision >= "2025-06-18":
        known |= {"title"}
    if wire.revision >= "2025-11-25":
        known |= {"description"}
    assert client.server["serverInfo"].keys() == known
    assert client.server["instructions"] == "Use `echo` to hear yourself."
    assert ("completions" in client.server["capabilities"]) == (wire.revision >= "2025-03-26")


@ON_SESSIONS
@pytest.mark.parametrize("asked", ["1999-01-01", "2026-07-28", "", "nonsense"])
@pytest.mark.requirement("mcp:initialize:unknown-revision")
async def test_an_unknown_revision_is_answered_with_the_newest_of_its_era(connect: Connect, asked: str) -> None:
    client = await a_session(connect)
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    assert (await client.request("initialize", params)).result["protocolVersion"] == "2025-11-25"


@ON_SESSIONS
@pytest.mark.parametrize("params", [{}, {"protocolVersion": 7}, {"protocolVersion": "2025-11-25", "capabilities": 7}])
@pytest.mark.requirement("mcp:initialize:invalid")
async def test_a_broken_handshake_is_refused_and_begins_nothing(connect: Connect, params: dict[str, object]) -> None:
    client = await a_session(connect)
    reply = await client.request("initialize", params)
    assert reply.error["code"] == -32602
    assert reply.http is not None
    assert "mcp-session-id" not in reply.http.headers


@ON_SESSIONS
@pytest.mark.requirement("mcp:sessions:unguessable")
async def test_ids_are_long_random_and_of_visible_ascii(connect: Connect) -> None:
    ids = {(await a_session(connect)).session or "" for _ in range(20)}
    assert len(ids) == 20
    alphabet = set(string.ascii_letters + string.digits + "-_")
    for one in ids:
        assert len(one) >= 32, "192 bits in base64"
        assert set(one) <= alphabet
    prefixes = {one[:8] for one in ids}
    assert len(prefixes) == 20, "no part of an id is shared"


@ON_SESSIONS
@pytest.mark.parametrize("session_id", ["unknown", "", "x" * 5000, "'; --", "\xff\xfe"])
@pytest.mark.requirement("mcp:sessions:unknown")
async def test_an_unknown_session_is_not_found(connect: Connect, session_id: str) -> None:
    client = await a_session(connect)
    answer = await with_session_id(client, session_id)
    assert answer.status == 404


@pytest.mark.requirement("mcp:sessions:bound-to-principal", "access:handles:wrong-owner")
async def test_the_session_of_another_looks_exactly_like_none(make_app: AppMaker) -> None:
    app = await make_app(auth="required")
    tokens = [(await app.api_keys.create(f"key {n}", scopes=["*:*"])).token for n in (1, 2)]
    mine, other = [await connect_http(app, SESSION, authorization=f"Bearer {token}") for token in tokens]
    assert mine.session is not None
    stolen = await with_session_id(other, mine.session)
    unknown = await with_session_id(other, "unknown")
    assert (stolen.status, stolen.header_list) == (unknown.status, unknown.header_list)
    assert stolen.status == 404
    theft = HttpClient(SESSION, {}, other.app)
    theft.extra, theft.session = other.extra, mine.session
    assert (await theft.delete()).status == 404
    assert (await theft.get().head()).status == 404
    assert (await mine.call("echo", {"text": "mine"})).text == "mine"
    for client in (mine, other):
        await client.close()


@pytest.mark.requirement("mcp:sessions:bound-to-endpoint")
async def test_a_session_belongs_to_the_endpoint_it_was_made_on(make_app: AppMaker) -> None:
    app = await make_app()
    client = await connect_http(app, SESSION)
    client.path = "/rooms/lab/mcp"
    assert client.session is not None
    assert (await with_session_id(client, client.session)).status == 404
    client.path = "/mcp/"
    assert (await with_session_id(client, client.session)).status == 200
    await client.close()


@ON_SESSIONS
@pytest.mark.requirement("mcp:sessions:delete")
async def test_delete_ends_a_session_for_good(connect: Connect) -> None:
    client = await a_session(connect)
    assert (await client.delete()).status == 204
    assert client.session is not None
    assert (await with_session_id(client, client.session)).status == 404
    assert (await client.delete()).status == 404
    assert (await client.get().head()).status == 404


@ON_SESSIONS
@pytest.mark.requirement("mcp:sessions:delete")
async def test_delete_without_a_session_is_a_bad_request(connect: Connect) -> None:
    client = await a_session(connect)
    client.session = None
    assert (await client.delete()).status == 400


@pytest.mark.requirement("mcp:sessions:sliding-expiry")
async def test_a_session_lives_for_an_hour_after_its_last_use(make_app: AppMaker) -> None:
    clock = TurnedClock()
    app = await make_app(clock=clock)
    client = await connect_http(app, SESSION)
    for _ in range(3):
        clock.pass_seconds(3500)
        assert (await client.request("ping")).result == {}, "every use begins the hour anew"
    clock.pass_seconds(3600 + 61)
    assert client.session is not None
    assert (await with_session_id(client, client.session)).status == 404
    await client.close()


@pytest.mark.requirement("mcp:sessions:clock-jump")
async def test_a_clock_set_back_does_not_make_a_session_immortal(make_app: AppMaker) -> None:
    clock = TurnedClock()
    app = await make_app(clock=clock)
    client = await connect_http(app, SESSION)
    clock.time -= 3600
    assert (await client.request("ping")).result == {}
    clock.pass_seconds(2 * 3600 + 3661)
    assert client.session is not None
    assert (await with_session_id(client, client.session)).status == 404
    await client.close()


@pytest.mark.requirement("mcp:sessions:survive-restart")
async def test_a_session_is_served_by_a_later_process_on_the_same_store(make_app: AppMaker) -> None:
    first = await make_app()
    client = await connect_http(first, SESSION)
    await client.request("logging/setLevel", {"level": "error"})
    second = await make_app()
    later = await connect_http(second, HTTP_MODERN)
    later.wire, later.session = SESSION, client.session
    reply = await later.call("chatter")
    assert [one["level"] for one in reply.notified("notifications/message")] == [
        "error", "critical", "alert", "emergency",
    ]  # fmt: skip
    await client.close()
    await later.close()


@pytest.mark.requirement("mcp:sessions:limits")
async def test_a_principal_over_its_share_loses_its_oldest_session(make_app: AppMaker) -> None:
    clock = TurnedClock()
    app = await make_app(auth="required", clock=clock, limits=Limits(sessions_per_principal=2))
    token = (await app.api_keys.create("key", scopes=["*:*"])).token
    clients = []
    for _ in range(3):
        clock.pass_seconds(1)
        clients.append(await connect_http(app, SESSION, authorization=f"Bearer {token}"))
    statuses = [(await with_session_id(client, client.session or "")).status for client in clients]
    assert statuses == [404, 200, 200]
    for client in clients:
        await client.close()


@pytest.mark.requirement("mcp:sessions:limits")
async def test_a_full_house_is_said_with_when_to_come_back(make_app: AppMaker) -> None:
    app = await make_app(limits=Limits(sessions=1))
    client = await connect_http(app, SESSION)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    reply = await client.request("initialize", params)
    assert reply.http is not None
    assert reply.http.status == 503
    assert int(reply.http.headers["retry-after"]) >= 1
    assert (await client.delete()).status == 204
    client.session = None
    assert (await client.request("initialize", params)).result["protocolVersion"] == "2025-11-25"
    await client.close()


@pytest.mark.requirement("mcp:sessions:nothing-before-initialize")
async def test_nothing_is_kept_for_who_never_shook_hands(make_app: AppMaker) -> None:
    app = await make_app()
    client = await connect_http(app, Wire("stateless", "2025-11-25"))
    for verb in ("GET", "DELETE", "HEAD"):
        await send(client.app, verb, "/mcp").body()
    await client.call("echo", {"text": "x"})
    assert await app.database.read(lambda rows: rows.value("SELECT count(*) FROM mcp_sessions")) == 0
    await client.close()


@pytest.mark.requirement("mcp:sessions:memory")
async def test_a_thousand_idle_sessions_cost_next_to_no_memory(make_app: AppMaker) -> None:
    app = await make_app()

    async def begin(count: int) -> None:
        work = [app.sessions.create("user:ada", "/mcp", NEWEST_LEGACY, {"capabilities": {}}) for _ in range(count)]
        await asyncio.gather(*work)

    await begin(100)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        await begin(1000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert await app.database.read(lambda rows: rows.value("SELECT count(*) FROM mcp_sessions")) == 1000
    assert grown < 2_000_000


@ON_SESSIONS
@pytest.mark.parametrize("padding", [" ", "\t", "  \t "])
@pytest.mark.requirement("access:headers:whitespace")
async def test_blanks_around_a_session_id_do_not_matter(connect: Connect, padding: str) -> None:
    client = await a_session(connect)
    assert (await with_session_id(client, f"{padding}{client.session}{padding}")).status == 200
