"""What a newcomer reads: after the first start, in an empty room, and that it works."""

import asyncio
import json
import re
import shlex
import signal
from html import unescape
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.rooms.finder import find_rooms
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.cli.processes import REPOSITORY, child, run

ROOMS = [room for room in find_rooms(()) if room.first_content]
SKILL = """---
name: summarise
description: Summarises long texts in a few sentences.
---
Read the text and say what matters.
"""
CARD = {
    "name": "Weather",
    "description": "Tells the weather.",
    "url": "https://agents.example.org/weather",
    "version": "1.0.0",
    "protocolVersion": "0.3.0",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "now", "name": "Now", "description": "The weather now.", "tags": ["weather"]}],
}
LISTS = {
    "directory": ("directory", "search"),
    "registers": ("registers", "list"),
    "avatars": ("avatars", "list"),
    "agents": ("agents", "tasks"),
}
IDLE = {"metrics": {"poll": {"host": 0, "pentad": 0, "postgres": 0}}}
"""No collector records anything by itself."""
QUIET = {"PENTAD_GRPC_PORT": "0", "PENTAD_SEARCH_EMBEDDER": "none", "PENTAD_PROGRAM": "./pentad"}


@pytest.mark.interop
@pytest.mark.requirement("cli:serve:first-steps")
def test_the_first_start_ends_with_what_to_do_next(tmp_path: Path) -> None:
    with child("serve", "--port", "0", "--data", "d", home=tmp_path, **QUIET) as server:
        url = re.findall(r"http://\S+/", server.line("Pentad is ready at"))[0]
        assert server.end(signal.SIGINT) == 0
    told = [line for line in server.stderr if not line.startswith("{")]
    steps = told[told.index("The store is new. What to do next:") + 1 :]
    assert steps[:3] == [
        f"  Log in as admin at {url}",
        f"  Connect a client to {url}mcp",
        f"    {url}#connect shows how, for each client",
    ]
    commands = [line.strip() for line in steps if line.startswith("    ./pentad ")]
    assert commands == [*(f"./{room.first_content}" for room in ROOMS), "./pentad demo"]

    with child("serve", "--port", "0", "--data", "d", home=tmp_path, **QUIET) as again:
        again.line("Pentad is ready at")
        assert again.end(signal.SIGINT) == 0
    assert "The store is new. What to do next:" not in again.stderr


@pytest.mark.requirement("rooms:empty")
@pytest.mark.parametrize("room", LISTS)
def test_a_list_that_is_empty_names_the_command_that_fills_it(tmp_path: Path, room: str) -> None:
    listed = run(*LISTS[room], "--data", "d", home=tmp_path, environ={"PENTAD_PROGRAM": "./pentad"})
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"There are no \w+; `\./pentad .+` \w+", listed.stderr)


def files_of_a_reader(folder: Path) -> dict[tuple[str, str], Path]:
    """What a reader has, by the room and the word in capitals it stands for."""
    skill, card = folder / "skills" / "summarise" / "SKILL.md", folder / "card.json"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL, encoding="utf-8")
    card.write_text(json.dumps(CARD), encoding="utf-8")
    return {
        ("directory", "FOLDER"): skill.parents[1],
        ("avatars", "FOLDER"): REPOSITORY / "docs_src" / "avatars" / "ida-brandt",
        ("agents", "CARD"): card,
    }


@pytest.mark.requirement("rooms:empty")
def test_the_command_that_adds_an_agent_works(tmp_path: Path) -> None:
    """Hosted agents are always there, so the page names no command for others; those of other rooms are run below."""
    room, command = next((one.name, one.first_content) for one in ROOMS if one.name == "agents")
    files = files_of_a_reader(tmp_path)
    program, *words = (str(files.get((room, word), word)) for word in shlex.split(command))
    done = run(*words, "--data", "d", home=tmp_path, environ={"PENTAD_SEARCH_EMBEDDER": "none"})
    assert (program, done.returncode) == ("pentad", 0), done.stderr


SOMETHING = {"AGENT": "echo", "TEXT": "Hello"}
"""What a reader puts in for words that stand for a thing the server has already."""


async def commands_on(page: str, data: Path) -> list[str]:
    """The commands that a page of a room tells a visitor to run."""
    room = page.partition("/")[0]
    settings = Settings(data=data, rooms=(room,), auth="none", search=SearchSettings(embedder="none"), room_tables=IDLE)
    async with open_app(settings) as app:
        answer = send(front_of(app), "GET", f"/console/{page}")
        body = (await answer.body()).decode()
    assert answer.status == 200, body
    return [unescape(one) for one in re.findall(r'<p class="(?:empty|note)">[^<]*<code>(.*?)</code>', body)]


@pytest.mark.requirement("rooms:empty")
@pytest.mark.parametrize("page", [*(room.name for room in find_rooms(())), "registers/schemas", "agents/tasks"])
def test_the_page_of_an_empty_room_names_a_command_that_works_and_is_then_gone(
    tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENTAD_PROGRAM", "./pentad")
    files = files_of_a_reader(tmp_path)
    room, first = page.partition("/")[0], asyncio.run(commands_on(page, tmp_path / "d"))
    assert first, "the page says nothing about what to do first"
    named = next(one.first_content for one in ROOMS if one.name == room)
    assert page in ("agents", "agents/tasks", "registers/schemas") or first == [f"./{named}"]
    for command in first:
        program, *words = (str(files.get((room, word)) or SOMETHING.get(word, word)) for word in shlex.split(command))
        done = run(*words, "--data", "d", home=tmp_path, environ={"PENTAD_SEARCH_EMBEDDER": "none"})
        assert (program, done.returncode) == ("./pentad", 0), (command, done.stderr)
    assert asyncio.run(commands_on(page, tmp_path / "d")) == []
