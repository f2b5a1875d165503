"""Limits of size, rate and concurrency: what is refused, with which status, and what the caller is told to do."""

import json
from typing import Any

import pytest

from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from tests.behaviour.clients import HTTP_MODERN, SESSION, STATELESS, Wire, wire_name
from tests.behaviour.clocks import TurnedClock
from tests.behaviour.connecting import AppMaker, connect_http, front_of
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("chunks", [1, 7])
@pytest.mark.requirement("access:limits:body")
async def test_a_body_over_the_limit_is_refused_while_it_comes_in(make_app: AppMaker, chunks: int) -> None:
    front = front_of(await make_app(limits=Limits(body_bytes=1000)))
    body = b" " * 1001
    parts = [body[start::chunks] for start in range(chunks)]
    answer = send(front, "POST", "/mcp", JSON, parts)
    told = await answer.json()
    assert answer.status == 413
    assert told["error"]["code"] == "limit_exceeded"
    assert "1000 bytes" in told["error"]["message"]
    exact = send(front, "POST", "/mcp", JSON, json.dumps(PING).encode().ljust(1000))
    await exact.body()
    assert exact.status == 200


@pytest.mark.requirement("access:limits:body")
async def test_a_body_that_says_it_is_too_large_is_not_even_read(make_app: AppMaker) -> None:
    front = front_of(await make_app(limits=Limits(body_bytes=1000)))
    answer = send(front, "POST", "/mcp", {**JSON, "content-length": "1001"}, json.dumps(PING).encode())
    await answer.body()
    assert answer.status == 413


@pytest.mark.parametrize("chunks", [1, 7])
@pytest.mark.requirement("access:limits:body")
async def test_ordinary_routes_have_a_limit_of_their_own(make_app: AppMaker, chunks: int) -> None:
    front = front_of(await make_app(limits=Limits(upload_bytes=1000)))
    body = b" " * 1001
    answer = send(front, "POST", "/nowhere", JSON, [body[start::chunks] for start in range(chunks)])
    assert (await answer.json())["error"]["code"] == "limit_exceeded"
    assert answer.status == 413
    exact = send(front, "POST", "/nowhere", JSON, b" " * 1000)
    await exact.body()
    assert exact.status == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
@pytest.mark.requirement("access:media:415")
async def test_a_body_that_is_no_json_is_an_unsupported_medium(site: Front, kind: str) -> None:
    answer = send(site, "POST", "/mcp", {"content-type": kind}, json.dumps(PING).encode())
    told = await answer.json()
    assert answer.status == 415
    assert "application/json" in told["error"]["hint"]


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", " application/json ", "APPLICATION/JSON"]
)
@pytest.mark.requirement("access:media:415", "access:headers:whitespace")
async def test_json_is_json_however_it_is_written(site: Front, kind: str) -> None:
    answer = send(site, "POST", "/mcp", {"content-type": kind}, json.dumps(PING).encode())
    await answer.body()
    assert answer.status == 200


@pytest.mark.parametrize("accept", ["text/html", "image/png", "text/plain;q=0.5"])
@pytest.mark.requirement("access:media:406")
async def test_who_takes_neither_json_nor_a_stream_cannot_be_answered(site: Front, accept: str) -> None:
    answer = send(site, "POST", "/mcp", {**JSON, "accept": accept}, json.dumps(PING).encode())
    told = await answer.json()
    assert answer.status == 406
    assert "application/json" in told["error"]["hint"]


@pytest.mark.parametrize(
    "accept",
    ["*/*", "application/json", "text/event-stream", "application/*", " application/json , text/event-stream "],
)
@pytest.mark.requirement("access:media:406", "mcp:http:curl")
async def test_who_takes_anything_of_it_is_answered(site: Front, accept: str) -> None:
    answer = send(site, "POST", "/mcp", {**JSON, "accept": accept}, json.dumps(PING).encode())
    await answer.body()
    assert answer.status == 200


@pytest.mark.parametrize("wire", [STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("access:limits:rate")
async def test_a_principal_over_its_rate_is_told_when_to_come_back(make_app: AppMaker, wire: Wire) -> None:
    clock = TurnedClock()
    app = await make_app(auth="required", clock=clock, limits=Limits(calls_per_second=1, calls_burst=3))
    tokens = [(await app.api_keys.create(f"key {n}", scopes=["*:read"])).token for n in (1, 2)]
    mine, other = [await connect_http(app, wire, authorization=f"Bearer {token}") for token in tokens]
    message = mine.message("tools/list", {}, 1, None)
    answers: list[tuple[HttpAnswer, Any]] = []
    for _ in range(4):
        answer = mine.post(message, mine.headers(message))
        answers.append((answer, await answer.json()))
    assert [answer.status for answer, _ in answers] == [200, 200, 200, 429]
    refused, body = answers[-1]
    assert int(refused.headers["retry-after"]) >= 1
    assert body["error"]["code"] == "rate_limited"
    assert (await other.request("tools/list")).result["tools"], "the allowance is one's own"
    clock.pass_seconds(2)
    assert (await mine.request("tools/list")).result["tools"]
    for client in (mine, other):
        await client.close()


@pytest.mark.requirement("access:limits:in-flight")
async def test_a_full_server_says_so_and_streams_do_not_count(make_app: AppMaker) -> None:
    app = await make_app(limits=Limits(calls_in_flight=1))
    client = await connect_http(app, SESSION)
    news = await client.get().head()
    modern = await connect_http(app, HTTP_MODERN)
    listening = await modern.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    await listening.next()
    hanging = await client.open_call("hang", {"key": "full"}, meta={"progressToken": 1})
    await hanging.wait_for("notifications/progress")
    answer = send(front_of(app), "POST", "/mcp", JSON, json.dumps(PING).encode())
    told = await answer.json()
    assert answer.status == 503
    assert told["error"]["code"] == "overloaded"
    assert int(answer.headers["retry-after"]) >= 1
    assert hanging.http is not None
    await app.pending_requests.cancel(client.session or "", hanging.id)
    with pytest.raises(EOFError):
        await hanging.reply()
    again = send(front_of(app), "POST", "/mcp", JSON, json.dumps(PING).encode())
    await again.body()
    assert again.status == 200
    await modern.cancel(listening)
    await news.leave()
    await client.close()
    await modern.close()


@pytest.mark.requirement("access:limits:in-flight")
async def test_a_client_that_leaves_while_sending_gives_its_place_back(make_app: AppMaker) -> None:
    front = front_of(await make_app(limits=Limits(calls_in_flight=1)))
    leaving = send(front, "POST", "/mcp", {**JSON, "content-length": "500"}, [b"{", b""])
    leaving._to_send.clear()
    leaving.disconnect()
    await leaving.leave()
    answer = send(front, "POST", "/mcp", JSON, json.dumps(PING).encode())
    await answer.body()
    assert answer.status == 200
