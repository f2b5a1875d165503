"""Finding rooms by name and by import path, and what is said when one cannot be found."""

import sys
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.rooms.finder import find_room, find_rooms, installed_rooms
from pentad.settings.model import Settings
from tests.behaviour.connecting import ROOM as LAB
from tests.behaviour.room import ROOM

OWN = """
from contextlib import asynccontextmanager
from pentad.platform import Room

@asynccontextmanager
async def nothing(platform):
    yield None

ROOM = Room(name="own", title="Own", instructions="", open=nothing)
"""


@pytest.mark.requirement("rooms:import-path")
def test_a_room_is_found_by_its_import_path() -> None:
    assert find_room(LAB) is ROOM
    assert find_rooms([LAB]) == [ROOM]


@pytest.mark.requirement("rooms:built-in")
def test_without_a_wish_every_room_of_pentads_own_is_found() -> None:
    assert [room.name for room in find_rooms([])] == installed_rooms()


@pytest.mark.requirement("rooms:import-path")
def test_a_room_of_ones_own_needs_nothing_of_pentads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_room.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_room("my_own_room:ROOM").name == "own"
    sys.modules.pop("my_own_room")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "There is no room 'nowhere'"),
        ("", "There is no room ''"),
        ("no.such.module:ROOM", "cannot be imported"),
        ("tests.behaviour.room:NOPE", "is not a room"),
        ("tests.behaviour.room:CANARY", "is not a room"),
        ("json:loads", "is not a room"),
    ],
)
@pytest.mark.requirement("rooms:unknown")
def test_what_is_no_room_is_refused_with_what_to_do(name: str, said: str) -> None:
    with pytest.raises(Misconfigured, match=said) as refused:
        find_room(name)
    assert refused.value.hint


@pytest.mark.anyio
@pytest.mark.requirement("rooms:name-conflict")
async def test_rooms_whose_names_clash_do_not_start(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=(LAB, LAB), auth="none")
    with pytest.raises(Misconfigured):
        async with open_app(settings) as app:
            app.all_rooms  # noqa: B018  the union is made when it is first asked for


@pytest.mark.anyio
@pytest.mark.requirement("rooms:one-endpoint-each")
async def test_each_room_has_an_endpoint_of_its_own_beside_the_shared_one(tmp_path: Path) -> None:
    from tests.behaviour.clients import STATELESS
    from tests.behaviour.connecting import connect_http

    settings = Settings(data=tmp_path, rooms=(LAB, "tests.http.room:ROOM"), auth="none")
    async with open_app(settings) as app:
        names = {}
        for path in ("/mcp", "/rooms/lab/mcp", "/rooms/pages/mcp"):
            client = await connect_http(app, STATELESS, path=path)
            names[path] = [entry["name"] for entry in await client.everything("tools/list", "tools")]
            await client.close()
    assert names["/rooms/pages/mcp"] == ["page"]
    assert names["/rooms/lab/mcp"] == [tool.name for tool in ROOM.tools]
    assert names["/mcp"] == [*names["/rooms/lab/mcp"], *names["/rooms/pages/mcp"], "search", "lineage"]
