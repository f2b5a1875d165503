"""What a room may add to the HTTP front: its own endpoints, paths for every origin, routes that describe themselves."""

import json

import pytest

from pentad.app import App
from tests.behaviour.connecting import AppMaker, front_of
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio

ROOM = "tests.http.profile_room:ROOM"
FOREIGN = {"origin": "https://elsewhere.example"}
JSON = {"content-type": "application/json"}


async def closed_app(make_app: AppMaker) -> tuple[App, dict[str, str]]:
    app = await make_app(rooms=(ROOM,), auth="required")
    key = await app.api_keys.create("one", scopes=["*:read"])
    return app, {"authorization": f"Bearer {key.token}"}


@pytest.mark.parametrize("path", ["/echo/mcp", "/echo/mcp/"])
async def test_a_rooms_own_endpoint_answers_behind_the_same_guards(make_app: AppMaker, path: str) -> None:
    app, credentials = await closed_app(make_app)
    assert (await send(front_of(app), "POST", path, JSON, b"1").head()).status == 401
    answer = send(front_of(app), "POST", path, JSON | credentials, b'{"a":1}')
    assert await answer.body() == b'{"a":1}'
    assert (await send(front_of(app), "GET", path, credentials).head()).status == 405
    assert (await send(front_of(app), "POST", path, JSON | credentials | {"host": "evil.example"}).head()).status == 421


async def test_pages_of_every_origin_may_call_a_shared_path_and_no_other(make_app: AppMaker) -> None:
    app, credentials = await closed_app(make_app)
    ask = {"access-control-request-method": "POST"}
    allowed = await send(front_of(app), "OPTIONS", "/echo/mcp", FOREIGN | ask).head()
    assert allowed.status == 204
    assert allowed.headers["access-control-allow-origin"] == FOREIGN["origin"]
    assert "access-control-allow-credentials" not in allowed.headers
    assert (await send(front_of(app), "POST", "/echo/mcp", FOREIGN | JSON | credentials, b"1").head()).status == 200
    assert (await send(front_of(app), "OPTIONS", "/mcp", FOREIGN | ask).head()).status == 403


async def test_a_foreign_page_cannot_send_what_a_browser_would_not_ask_permission_for(make_app: AppMaker) -> None:
    app, credentials = await closed_app(make_app)
    for kind in (None, "text/plain", "text/plain; json", "text/plain;charset=application/json", "multipart/form-data"):
        typed = {} if kind is None else {"content-type": kind}
        answer = await send(front_of(app), "POST", "/echo/mcp", FOREIGN | typed | credentials, b"1").head()
        assert answer.status == 403


async def test_without_credentials_no_path_is_shared_with_foreign_pages(make_app: AppMaker) -> None:
    app = await make_app(rooms=(ROOM,), auth="none")
    assert (await send(front_of(app), "POST", "/echo/mcp", FOREIGN | JSON, b"1").head()).status == 403


async def test_the_description_carries_models_parameters_and_status(make_app: AppMaker) -> None:
    app = await make_app(rooms=(ROOM,), auth="none")
    described = json.loads(await send(front_of(app), "GET", "/openapi.json").body())
    mix = described["paths"]["/paint/{shelf}"]["post"]
    assert mix["summary"] == "Mix colours."
    assert mix["tags"] == ["paint"]
    assert [(one["name"], one["in"], one["schema"]["type"]) for one in mix["parameters"]] == [
        ("shelf", "path", "integer"),
        ("_gloss", "query", "integer"),
    ]
    assert mix["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Paint"}
    answer = mix["responses"]["201"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/Colour"}
    schemas = described["components"]["schemas"]
    assert schemas["Paint"]["properties"]["colours"]["items"] == {"$ref": "#/components/schemas/Colour"}
    assert schemas["Colour"]["required"] == ["name"]
    assert "/old/paint/{shelf}" not in described["paths"]


async def test_a_path_answers_with_and_without_a_slash_at_its_end(make_app: AppMaker) -> None:
    app = await make_app(rooms=(ROOM,), auth="none")
    for path in ("/paint/1", "/paint/1/", "/old/paint/1/"):
        assert (await send(front_of(app), "POST", path, JSON, b"{}").head()).status == 201
