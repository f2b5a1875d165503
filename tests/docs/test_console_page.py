"""The page on the console names pages that exist, and shows exactly the code that is run here."""

import re
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.pages import Block
from pentad.rooms.finder import find_rooms
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.console.conftest import Browser
from tests.docs.conftest import SOURCE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "console.md").read_text(encoding="utf-8")


def shape(path: str) -> str:
    return re.sub(r"[<{][^>}]*[>}]", "*", path)


@pytest.mark.requirement("docs:console")
def test_the_pages_it_names_are_there() -> None:
    named = {shape(path) for path in re.findall(r"^\| `(/console/[^`]+)`", PAGE, re.MULTILINE)}
    rooms = find_rooms(("directory", "registers", "avatars", "agents", "metrics"))
    there = {
        shape(f"/console/{room.name}/{page.path}").rstrip("/")
        for room in rooms
        if room.pages is not None
        for page in room.pages().pages
    }
    there |= {"/console/admin", "/console/audit", "/console/account", "/console/tools", "/console/style"}
    there.add("/console/lineage")
    assert len(named) == 44
    assert named <= there
    assert {path for path in there if path.startswith("/console/metrics")} <= named


@pytest.mark.requirement("docs:console")
def test_every_kind_of_block_is_named() -> None:
    for kind in Block.__args__:
        assert f"`{kind.__name__}`" in PAGE


@pytest.mark.anyio
@pytest.mark.usefixtures("docs_src")
@pytest.mark.requirement("docs:console")
async def test_the_pages_of_the_example_work(tmp_path: Path) -> None:
    assert (SOURCE / "notes_pages.py").read_text(encoding="utf-8") in PAGE
    settings = Settings(data=tmp_path, rooms=("notes_pages:ROOM",), auth="none")
    async with open_app(settings) as app:
        async with app.client() as client:
            for name in ("shopping", "travel"):
                await client.call_tool("write_note", {"name": name, "text": f"<b>{name}</b> & tea"})
        browser = Browser(app, front_of(app))
        listed = await browser.get("/console/notes?q=shop")
        assert "/console/notes/notes/shopping" in listed.page.values("a", "href")
        assert "travel" not in listed.page.text
        assert "<b>shopping</b> & tea" in (await browser.get("/console/notes/notes/shopping")).page.texts
        assert (await browser.get("/console/notes/notes/nothing")).status == 404
        form = {"content-type": "application/x-www-form-urlencoded"}
        deleted = send(browser.front, "POST", "/console/notes/notes/shopping/delete", form, b"")
        await deleted.body()
        assert (deleted.status, deleted.headers["location"]) == (303, "/console/notes")
        assert (await browser.get("/console/notes/notes/shopping")).status == 404
        assert (await browser.get("/console/notes/notes/travel")).status == 200
