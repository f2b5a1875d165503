"""The ordinary routes: health, readiness, metrics, descriptions; and one shape for every error."""

import json
import logging
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Message

from pentad import __version__
from pentad.http.front import Front
from pentad.http.routes import application
from tests.behaviour.clients import STATELESS
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.connecting import AppMaker, connect_http, front_of
from tests.behaviour.http_wire import send
from tests.http.room import CANARY

pytestmark = pytest.mark.anyio

PATHS = [
    "/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/llms.txt", "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp", "/api/whoami",
]  # fmt: skip


def shape_is_ours(body: bytes) -> None:
    """A problem: {"title", "status", "detail", "error": {"code", "message", "hint"?, "details"?}} and nothing else."""
    told = json.loads(body)
    assert told.keys() == {"title", "status", "detail", "error"}
    error = told["error"]
    assert told["detail"].startswith(error["message"])
    assert {"code", "message"} <= error.keys() <= {"code", "message", "hint", "details"}
    assert re.fullmatch(r"[a-z_]+", error["code"])
    assert error["message"].endswith((".", "!")), error["message"]
    assert isinstance(error.get("hint", ""), str)
    assert isinstance(error.get("details", {}), dict)


@pytest.mark.parametrize(
    ("verb", "path", "headers", "status"),
    [
        *(("GET", path, {"host": "evil.example"}, 421) for path in PATHS),
        *(("GET", path, {"origin": "http://evil.example"}, 403) for path in PATHS),
        *(("POST", path, {}, 405) for path in PATHS),
        *(("DELETE", path, {}, 405) for path in PATHS),
        ("GET", "/nowhere", {}, 404),
        ("GET", "/mcp/more", {}, 404),
        ("GET", "/rooms/nowhere/mcp", {}, 404),
        ("GET", "/api/items/seven", {}, 404),
        ("GET", "/api/items/7", {}, 409),
        ("GET", "/api/busy", {}, 429),
        ("GET", "/api/crash", {}, 500),
        ("POST", "/mcp", {"content-type": "text/plain"}, 415),
        ("POST", "/mcp", {"accept": "text/html"}, 406),
        ("POST", "/mcp", {"content-length": "999999999"}, 413),
    ],
)
@pytest.mark.requirement("gateway:error-shape")
async def test_every_error_has_the_one_shape(
    site: Front, verb: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = send(site, verb, path, headers)
    body = await answer.body()
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    shape_is_ours(body)
    assert not 300 <= answer.status < 400


@pytest.mark.requirement("gateway:error-shape")
async def test_a_rooms_own_error_keeps_its_facts(site: Front) -> None:
    answer = send(site, "GET", "/api/items/7")
    assert await answer.json() == {
        "title": "Conflict",
        "status": 409,
        "detail": "Item 7 is taken. Take another.",
        "error": {"code": "conflict", "message": "Item 7 is taken.", "hint": "Take another.", "details": {"free": 8}},
    }
    busy = send(site, "GET", "/api/busy")
    await busy.body()
    assert busy.headers["retry-after"] == "7"


@pytest.mark.requirement("access:secrets:no-leak")
async def test_a_crash_of_a_route_tells_an_incident_and_nothing_else(
    site: Front, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "pentad"):
        answer = send(site, "GET", "/api/crash")
        body = (await answer.body()).decode()
    assert answer.status == 500
    assert CANARY not in body
    incident = json.loads(body)["error"]["message"].split()[-1].rstrip(".")
    assert incident in caplog.text
    assert caplog.text.count("[incident ") == 1, "it is logged once"
    assert CANARY in caplog.text


@pytest.mark.parametrize("path", [*PATHS, "/mcp", "/rooms/lab/mcp", "/nowhere"])
@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.requirement("mcp:http:no-redirect")
async def test_a_trailing_slash_is_never_answered_by_a_redirect(site: Front, verb: str, path: str) -> None:
    for one in (path, path.rstrip("/") + "/"):
        answer = send(site, verb, one)
        await answer.body()
        assert not 300 <= answer.status < 400
        assert "location" not in answer.headers


@pytest.mark.requirement("gateway:healthz")
async def test_a_living_process_says_so(site: Front) -> None:
    answer = send(site, "GET", "/healthz")
    assert await answer.json() == {"status": "ok", "version": __version__}
    head = send(site, "HEAD", "/healthz")
    await head.body()
    assert head.status == 200


@pytest.mark.requirement("gateway:readyz")
async def test_a_ready_server_shows_its_store_and_its_rooms(site: Front) -> None:
    answer = send(site, "GET", "/readyz")
    told = await answer.json()
    assert answer.status == 200
    assert told["status"] == "ok"
    assert told["store"]["dialect"] == "sqlite"
    assert told["rooms"]["lab"] == {"status": "ok", "notes": 5}
    assert told["rooms"]["pages"] == {"status": "ok"}


@pytest.mark.requirement("gateway:readyz")
async def test_a_sick_room_is_named_and_the_others_go_on(make_app: AppMaker, caplog: pytest.LogCaptureFixture) -> None:
    app = await make_app(rooms=(LAB, "tests.http.room:SICK"))
    answer = send(front_of(app), "GET", "/readyz")
    told = await answer.json()
    assert answer.status == 200
    assert told["status"] == "degraded"
    sick = told["rooms"]["sick"]
    assert (sick["status"], sick["message"]) == ("unavailable", "The index cannot be reached.")
    assert sick["incident"] in caplog.text
    assert told["rooms"]["lab"]["status"] == "ok"


@pytest.mark.requirement("gateway:metrics")
async def test_calls_are_counted_by_room_tool_and_outcome(make_app: AppMaker) -> None:
    app = await make_app()
    client = await connect_http(app, STATELESS)
    for _ in range(3):
        await client.call("echo", {"text": "x"})
    await client.call("refuse", {"key": "x"})
    await app.audit.flush()
    answer = send(front_of(app), "GET", "/metrics")
    text = (await answer.body()).decode()
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'pentad_calls_total{outcome="ok",room="lab",tool="echo"} 3.0' in text
    assert 'pentad_calls_total{outcome="invalid_input",room="lab",tool="refuse"} 1.0' in text
    assert 'pentad_call_seconds_count{room="lab",tool="echo"} 3.0' in text
    assert "pentad_audit_dropped_total 0.0" in text
    await client.close()


@pytest.mark.requirement("gateway:openapi")
async def test_the_description_lists_every_route_there_is(site: Front) -> None:
    document = await send(site, "GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path in ("/healthz", "/readyz", "/metrics", "/llms.txt", "/api/whoami", "/api/crash"):
        assert "get" in document["paths"][path]
    item = document["paths"]["/api/items/{number}"]
    assert item.keys() == {"get", "put"}
    assert item["get"]["parameters"] == [
        {"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}
    ]
    assert item["get"]["summary"] == "One item by number."
    operations = [one["operationId"] for entry in document["paths"].values() for one in entry.values()]
    assert len(operations) == len(set(operations))
    assert document["components"]["schemas"]["Problem"]["required"] == ["title", "status", "detail", "error"]


@pytest.mark.requirement("gateway:llms")
async def test_models_are_told_where_to_connect_and_what_there_is(site: Front) -> None:
    answer = send(site, "GET", "/llms.txt")
    text = (await answer.body()).decode()
    assert answer.headers["content-type"].startswith("text/plain")
    assert "/mcp" in text
    assert "- echo: Says what it is told." in text


@pytest.mark.requirement("gateway:home")
async def test_people_get_a_page_that_loads_nothing_from_elsewhere(site: Front) -> None:
    answer = send(site, "GET", "/")
    page = (await answer.body()).decode()
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "echo" in page
    scripts = re.findall(r"<script[^>]*>", page)
    assert all(re.search(r' src="/console/[a-z]+\.js', script) for script in scripts)


async def _nothing(_request: Request) -> Response:
    return Response()


ROUTES = [
    Route("/", _nothing), Route("/healthz", _nothing), Route("/api/objects", _nothing, methods=["POST"]),
    Route("/api/{kind}", _nothing), Mount("/console/files", Response()), Mount("/console", Response()),
    Route("/api/objects/{a}/{b}", _nothing), Route("/api/objects/{a}", _nothing, methods=["PUT"]),
    Route("/{a}/objects/{b}", _nothing), Route("/api/{rest:path}", _nothing, methods=["PATCH"]),
]  # fmt: skip


@given(
    st.lists(st.sampled_from(["", "api", "objects", "console", "files", "healthz", "x"]), max_size=5),
    st.sampled_from(["GET", "POST", "PUT", "PATCH"]),
)
async def test_the_same_route_answers_as_if_all_were_tried(segments: list[str], method: str):
    async def answered_by(app: ASGIApp) -> str | None:
        scope: Any = {"type": "http", "method": method, "path": "/" + "/".join(segments), "headers": []}
        with suppress(HTTPException):
            await app(scope, _no_body, _unheard)
        found = scope.get("route")
        return None if found is None else found.path

    assert await answered_by(application(ROUTES)) == await answered_by(Router(ROUTES, redirect_slashes=False))


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    return
