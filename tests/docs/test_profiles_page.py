"""The page about profiles: its settings load, its addresses answer, its tools exist."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pentad.mcp.profiles import BUILT_IN, Profile
from pentad.mcp.tool_search import SEARCH_TOOLS
from pentad.rooms.finder import find_rooms
from pentad.settings.sources import load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
ROOMS = ("directory", "registers", "agents", "avatars", "metrics")


@pytest.mark.requirement("tools:profiles:settings")
def test_the_snippets_are_settings_that_select_something(tmp_path: Path) -> None:
    snippets = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(snippets) == 4
    (tmp_path / "pentad.toml").write_text("\n".join(reversed(snippets)), encoding="utf-8")
    found = load_settings(environ={"HOME": str(tmp_path)}, folder=tmp_path)
    assert found.profiles.keys() == {"support", "auditors", "builders", "permits"}
    assert found.http_sse
    tools = {tool.name: (room.name, tool) for room in find_rooms(ROOMS) for tool in room.tools}
    for name, profile in found.profiles.items():
        assert profile.typed or [one for room, one in tools.values() if profile.selects(room, one)], name
    assert all(pattern.partition(":")[0] in tools for pattern in found.confirm)


@pytest.mark.requirement("tools:profiles:settings")
def test_the_page_names_every_field_profile_tag_and_search_tool() -> None:
    for name in (*(field.name for field in fields(Profile)), *(tool.name for tool in SEARCH_TOOLS)):
        assert f"`{name}`" in PAGE
    for name in BUILT_IN:
        assert f"`/mcp/{name}`" in PAGE
    for tag in {tag for room in find_rooms(ROOMS) for tool in room.tools for tag in tool.tags}:
        assert f"`{tag}`" in PAGE
