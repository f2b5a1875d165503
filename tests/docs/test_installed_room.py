"""The room of the page, built as a package and installed, has everything a room of Pentad's own has."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.rooms.finder import find_rooms, installed_rooms
from pentad.settings.catalogue import list_settings
from pentad.settings.model import Settings
from pentad.settings.sources import load_settings
from tests.behaviour.connecting import front_of
from tests.cli.processes import child, run
from tests.console.conftest import Browser
from tests.docs.conftest import SOURCE
from tests.waiting import until

PAGE = SOURCE.parent / "docs" / "write-a-room.md"
FILES = ("notes_room.py", "notes_pages.py", "notes_plugin.py")


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed by the tools a user would use, without a network."""
    source = tmp_path_factory.mktemp("notes")
    for name in FILES:
        shutil.copy(SOURCE / name, source)
    shutil.copytree(SOURCE / "notes_schema", source / "notes_schema")
    shutil.copy(SOURCE / "notes_plugin.toml", source / "pyproject.toml")
    tools, target = Path(sys.executable).parent, tmp_path_factory.mktemp("installed")
    subprocess.run(
        [tools / "hatchling", "build", "-t", "wheel"], cwd=source, check=True, capture_output=True, timeout=60
    )
    (wheel,) = (source / "dist").glob("*.whl")
    install = [tools / "uv", "pip", "install", "--offline", "--no-deps", "--no-cache", "--target", target, wheel]
    subprocess.run(install, cwd=source, check=True, capture_output=True, timeout=60)
    return target


@pytest.fixture
def installed(site_packages: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(site_packages)
    yield site_packages
    for name in ("notes_plugin", "notes_pages", "notes_room", "notes_schema"):
        sys.modules.pop(name, None)


@pytest.mark.requirement("rooms:installed", "docs:write-a-room")
def test_the_page_shows_the_package_word_for_word() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("notes_plugin.py", "notes_plugin.toml"):
        assert (SOURCE / name).read_text(encoding="utf-8") in page


@pytest.mark.requirement("rooms:installed")
@pytest.mark.usefixtures("installed")
def test_it_is_found_by_name_and_opened_by_default() -> None:
    assert "notes" in installed_rooms()
    assert [room.name for room in find_rooms(["notes"])] == ["notes"]
    assert "notes" in [room.name for room in find_rooms([])]


@pytest.mark.requirement("rooms:installed")
@pytest.mark.anyio
@pytest.mark.usefixtures("installed")
async def test_it_has_its_tools_and_its_page(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("notes",), auth="none")) as app:
        async with app.client() as client:
            await client.call_tool("write_note", {"name": "shopping", "text": "bread and tea"})
            assert (await client.call_tool("list_notes"))["structuredContent"] == {"names": ["shopping"]}
        shown = await Browser(app, front_of(app)).get("/console/notes/notes/shopping")
        assert "bread and tea" in shown.page.texts


@pytest.mark.requirement("rooms:installed")
@pytest.mark.usefixtures("installed")
def test_it_has_its_verb(tmp_path: Path) -> None:
    assert "List notes." in run("--help", home=tmp_path).stdout
    assert (
        run("call", "write_note", "name=a", "text=b", "--rooms", "notes", "--data", "d", home=tmp_path).returncode == 0
    )
    assert run("notes", "list", "--data", "d", home=tmp_path).stdout.split() == ["name", "a"]


@pytest.mark.requirement("rooms:installed", "cli:room-verbs:url")
def test_its_verb_works_on_a_server_too(installed: Path, tmp_path: Path) -> None:
    path = {"PYTHONPATH": str(installed)}
    with child("serve", "--auth", "none", "--rooms", "notes", "--port", "0", home=tmp_path, **path) as server:
        url = server.line("Pentad is ready at ").partition("MCP: ")[2].rstrip(")")
        assert run("call", "write_note", "name=far", "text=b", "--url", url, home=tmp_path).returncode == 0
        assert run("notes", "list", "--json", "--url", url, home=tmp_path).stdout.split() == ["[", '"far"', "]"]


@pytest.mark.requirement("rooms:installed")
@pytest.mark.anyio
@pytest.mark.usefixtures("installed")
async def test_its_job_runs_and_its_setting_reaches_it(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path, rooms=("notes",), auth="none", room_tables={"notes": {"welcome": "Good morning"}}
    )
    async with open_app(settings) as app, app.client() as client:
        await until(
            lambda: client.call_tool("list_notes"), lambda found: found["structuredContent"] == {"names": ["welcome"]}
        )
        read = await client.request("resources/read", {"uri": "notes://welcome"})
        assert read["contents"][0]["text"] == "Good morning"


@pytest.mark.requirement("rooms:installed")
@pytest.mark.usefixtures("installed")
def test_it_has_its_setting(tmp_path: Path) -> None:
    (tmp_path / "pentad.toml").write_text("[rooms.notes]\nwelcome = 'Good morning'\n", encoding="utf-8")
    settings = load_settings({"data": tmp_path / "d"}, environ={}, folder=tmp_path)
    line = next(line for line in list_settings(settings) if line.path == "rooms.notes.welcome")
    assert (line.value, line.about) == ("Good morning", "The text of a note that everybody finds.")
    (tmp_path / "pentad.toml").write_text("[rooms.notes]\nwelcom = 'x'\n", encoding="utf-8")
    with pytest.raises(Misconfigured, match=r"unknown setting 'rooms\.notes\.welcom'") as caught:
        load_settings({"data": tmp_path / "d"}, environ={}, folder=tmp_path)
    assert "'rooms.notes.welcome'" in (caught.value.hint or "")
    told = load_settings({}, environ={"PENTAD_NOTES_WELCOM": "x"}, folder=tmp_path / "d")
    assert "PENTAD_NOTES_WELCOME" in told.warnings[0]
