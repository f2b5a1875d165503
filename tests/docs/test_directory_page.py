"""The page on the directory shows what the room really answers."""

import re
from pathlib import Path

import pytest

from pentad.rooms.directory.interface.cli.commands import directory
from pentad.rooms.directory.room import ROOM
from tests.docs.touring import ROOT, check_page, tour_named

KEY = re.compile(r"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----(\\n)?", re.DOTALL)
FINGERPRINT = re.compile(r'"[0-9a-f]{64}"')
SIGNATURE = re.compile(r'"signature": "[A-Za-z0-9+/=]+"')
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def steady(text: str) -> str:
    """Keys, signatures, times and what depends on them are others on every run."""
    text = SIGNATURE.sub('"signature": "..."', KEY.sub("-----BEGIN PUBLIC KEY----- ...", text))
    text = TIME.sub("2026-05-28T20:26:40.000Z", text)
    return FINGERPRINT.sub('"..."', text)


@pytest.mark.requirement("dir:docs:page")
def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENTAD_SEARCH_EMBEDDER", "none")  # what the page shows must not depend on a pulled model
    tour = tour_named(monkeypatch, "directory_tour")
    check_page(ROOT / "docs" / "directory.md", tour, "directory", tmp_path, steady)


@pytest.mark.requirement("dir:docs:page")
def test_the_reference_has_every_tool_and_every_command() -> None:
    text = (ROOT / "docs" / "directory.md").read_text(encoding="utf-8")
    table = text.partition("### Tools and commands\n")[2].partition("\n### ")[0]
    named = {name.partition(" ")[0] for name in re.findall(r"`([^`]+)`", table)}
    assert {tool.name for tool in ROOM.tools} <= named
    assert directory.commands.keys() <= named
