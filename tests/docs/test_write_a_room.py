"""The page on writing a room shows exactly the code that is run here."""

import re
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.principal import LOCAL
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.docs.conftest import SOURCE

ROOT = Path(__file__).resolve().parents[2]


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "write-a-room.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


@pytest.mark.requirement("docs:write-a-room")
def test_the_page_shows_the_files_word_for_word() -> None:
    shown = [(SOURCE / name).read_text(encoding="utf-8") for name in ("notes_room.py", "notes_mounts.py")]
    assert blocks("python") == shown
    assert blocks("sql") == [(SOURCE / "notes_schema" / "0001_notes.sql").read_text(encoding="utf-8")]


@pytest.mark.requirement("docs:write-a-room")
def test_the_room_is_thirty_lines_of_logic() -> None:
    code = (SOURCE / "notes_room.py").read_text(encoding="utf-8").split("class Note(Arguments):")[1]
    logic = code.split("ROOM = Room(")[0]
    assert len([line for line in logic.splitlines() if line.strip()]) <= 30


@pytest.mark.anyio
@pytest.mark.usefixtures("docs_src")
@pytest.mark.requirement("docs:write-a-room", "rooms:import-path", "rooms:own-tables")
async def test_the_room_of_the_page_works(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=("notes_room:ROOM",), auth="none")
    async with open_app(settings) as app, app.client() as client:
        assert [entry["name"] for entry in await client.list_all("tools/list", "tools")] == ["write_note", "list_notes"]
        await client.request("resources/subscribe", {"uri": "notes://shopping"})
        for text in ("bread", "bread and tea"):
            kept = await client.call_tool("write_note", {"name": "shopping", "text": text})
            assert kept["content"][0]["text"] == "Kept as notes://shopping."
        listed = await client.call_tool("list_notes")
        assert listed["structuredContent"] == {"names": ["shopping"]}
        read = await client.request("resources/read", {"uri": "notes://shopping"})
        assert read["contents"][0]["text"] == "bread and tea"
        refused = await client.call_tool("write_note", {"name": "Not A Name", "text": "x"})
        assert refused["isError"] is True
    async with open_app(settings) as app, app.client() as client:
        assert (await client.call_tool("list_notes"))["structuredContent"] == {"names": ["shopping"]}, "it was kept"


@pytest.mark.anyio
@pytest.mark.usefixtures("docs_src")
@pytest.mark.requirement("docs:write-a-room", "rooms:mounts")
async def test_the_mount_of_the_page_answers_behind_the_guards_and_is_audited(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("notes_mounts:ROOM",))) as app:
        tokens = {scope: (await app.api_keys.create(scope, scopes=[scope])).token for scope in ("notes:*", "other:*")}
        await app.neighbours.call_tool(LOCAL, "write_note", {"name": "shopping", "text": "bread"})
        headers = {scope: {"authorization": f"Bearer {token}"} for scope, token in tokens.items()}
        front = front_of(app)
        assert await send(front, "GET", "/notes/shopping", headers["notes:*"]).body() == b"bread"
        assert (await send(front, "GET", "/notes/nothing", headers["notes:*"]).head()).status == 404
        assert (await send(front, "GET", "/notes/shopping", headers["other:*"]).head()).status == 403
        assert (await send(front, "GET", "/notes/shopping").head()).status == 401
        await app.audit.flush()
        entries = (await app.audit.recent(room="notes"))[::-1]
        calls = [(entry.tool, entry.outcome) for entry in entries]
        assert calls == [
            ("write_note", "ok"),
            ("GET /notes/{name}", "ok"),
            ("GET /notes/{name}", "404"),
            ("GET /notes/{name}", "403"),
            ("GET /notes/{name}", "401"),
        ]
