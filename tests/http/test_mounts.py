"""Mounts: applications of rooms, found by path, behind the front's guards, audited like any call."""

import dataclasses
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured
from pentad.mcp.http_exchange import Receive, Send
from pentad.net.grpc_calls import GrpcServices
from pentad.platform import Mount, OpenRoom, Scope
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.http.profile_room import Echo

pytestmark = pytest.mark.anyio

HALL = "tests.http.mount_room:ROOM"


@dataclass(frozen=True)
class Hall:
    app: App
    front: Front
    key: str


@pytest.fixture
async def hall(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hall]:
    limits = Limits(body_bytes=1000, calls_in_flight=1)
    settings = Settings(data=tmp_path_factory.mktemp("hall"), rooms=(HALL,), limits=limits)
    async with open_app(settings) as app:
        yield Hall(app, front_of(app), (await app.api_keys.create("one", scopes=["*:read"])).token)


@pytest.mark.requirement("rooms:mounts")
@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
@pytest.mark.parametrize("path", ["/hall", "/hall/", "/hall/far/below"])
async def test_an_application_answers_at_its_path_and_below_with_either_kind_of_credentials(
    hall: Hall, path: str, header: str
) -> None:
    value = hall.key if header == "x-api-key" else f"Bearer {hall.key}"
    answer = send(hall.front, "POST", path, {header: value}, b"knock")
    told = await answer.json()
    assert answer.status == 200
    assert told["who"].startswith("key:")
    assert told == {"path": path, "who": told["who"], "now": told["who"], "body": "knock"}


async def test_an_api_key_header_opens_every_other_path_too(hall: Hall) -> None:
    assert (await send(hall.front, "GET", "/mcp", {"x-api-key": "wrong"}).head()).status == 401
    known = await send(hall.front, "POST", "/mcp", {"x-api-key": hall.key, "content-type": "application/json"}).head()
    assert known.status == 400


async def test_without_credentials_only_what_is_public_answers(hall: Hall) -> None:
    card = send(hall.front, "GET", "/hall/card")
    assert (await card.json())["who"] == "anonymous"
    refused = send(hall.front, "POST", "/hall/card")
    assert await refused.json() == {"in own words": "Credentials are needed.", "at": "/hall/card"}
    assert refused.status == 401
    assert any(name == "www-authenticate" for name, _ in refused.header_list)
    plain = send(hall.front, "GET", "/hall/side/x")
    assert (await plain.json())["error"]["code"] == "unauthenticated"
    assert (await send(hall.front, "GET", "/hallway").head()).status == 404


async def test_what_an_application_refuses_or_the_guards_refuse_is_said_in_its_own_words(hall: Hall) -> None:
    key = {"x-api-key": hall.key}
    taken = send(hall.front, "GET", "/hall/taken", key)
    assert await taken.json() == {"in own words": "It is taken.", "at": "/hall/taken"}
    assert taken.status == 409
    large = send(hall.front, "POST", "/hall", key, b"x" * 1001)
    assert "larger than 1000 bytes" in (await large.json())["in own words"]
    assert large.status == 413
    for _ in range(3):
        again = send(hall.front, "POST", "/hall", key, b"x")
        await again.body()
        assert again.status == 200


async def test_calls_of_an_application_are_audited_by_its_path_or_as_it_names_them(hall: Hall) -> None:
    for path in ("/hall/far", "/hall/named", "/hall/taken", "/hall/side/x"):
        await send(hall.front, "GET", path, {"x-api-key": hall.key}).body()
    await hall.app.audit.flush()
    entries = (await hall.app.audit.recent(room="hall"))[::-1]
    assert [(entry.tool, entry.outcome) for entry in entries] == [
        ("GET /hall", "ok"),
        ("KnockTwice", "-32001"),
        ("GET /hall", "409"),
        ("GET /hall/side", "ok"),
    ]


async def test_an_application_that_only_knows_asgi_receives_the_body(hall: Hall) -> None:
    answer = send(hall.front, "POST", "/hall/replayed", {"x-api-key": hall.key}, b"knock")
    assert (await answer.json())["body"] == "knock"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotImplementedError


def no_services() -> GrpcServices:
    raise AssertionError("the port is not open")


@pytest.mark.requirement("rooms:mounts:checked")
@pytest.mark.parametrize(
    "given",
    [
        {"path": "/x"},
        {"path": "/x", "app": app, "routes": []},
        {"path": "x", "app": app},
        {"path": "/x/", "app": app},
        {"app": app},
        {"path": "/x/mcp", "part": app},
        {"path": "/x/{id}/mcp", "part": app, "any_origin": True},
        {"path": "/{id}", "app": app},
        {"path": "/x", "routes": []},
        {"routes": [], "any_origin": True},
        {"routes": [], "all_rooms": True},
        {"path": "/x", "endpoint": Echo(), "is_public": lambda method, path: True},
    ],
)
def test_a_mount_has_one_thing_that_answers_and_the_rules_that_fit_it(given: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match="cannot work"):
        Mount(**given)


@pytest.mark.requirement("rooms:mounts:checked")
@pytest.mark.parametrize(
    ("mounts", "reason"),
    [
        ([Mount("/x", app=app), Mount("/x", app=app)], "where something else answers"),
        ([Mount("/mcp", endpoint=Echo())], "where something else answers"),
        ([Mount(grpc=no_services)], "has_port"),
    ],
)
async def test_mounts_that_cannot_work_stop_the_start(tmp_path: Path, mounts: list[Mount], reason: str) -> None:
    async with open_app(Settings(data=tmp_path, rooms=(HALL,), auth="none")) as opened:
        room = dataclasses.replace(opened.rooms[0].room, mounts=lambda service, context: mounts)
        opened.rooms[0] = OpenRoom(room, None)
        with pytest.raises(Misconfigured, match=reason):
            http_application(opened)
