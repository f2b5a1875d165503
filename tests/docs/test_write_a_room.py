"""The page on writing a room shows exactly the code that is run here."""

import re
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.settings.model import Settings
from tests.docs.conftest import SOURCE

ROOT = Path(__file__).resolve().parents[2]


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "write-a-room.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


@pytest.mark.requirement("docs:write-a-room")
def test_the_page_shows_the_files_word_for_word() -> None:
    assert blocks("python") == [(SOURCE / "notes_room.py").read_text(encoding="utf-8")]
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
