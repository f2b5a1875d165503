"""The union of rooms: names are unique, and nothing is claimed that does not exist."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Misconfigured, NotFound
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.call import Call
from pentad.mcp.declarations import Prompt, Resource, Tool, prompt, resource, tool
from pentad.mcp.registry import Registry, ServerInfo
from pentad.mcp.revisions import NEWEST_LEGACY, NEWEST_MODERN, REVISIONS
from pentad.mcp.tasks import TaskState
from pentad.mcp.wire_errors import ProtocolError
from pentad.platform import OpenRoom, Platform, Room

INFO = ServerInfo("pentad", "1", "Pentad", "For tests.")


@asynccontextmanager
async def nothing(_platform: Platform) -> AsyncGenerator[None]:
    yield None


def a_tool(name: str, *aliases: str) -> Tool:
    async def work() -> str:
        """Works."""
        return ""

    return tool(name, aliases=aliases)(work)


def a_resource(uri: str) -> Resource:
    async def read() -> str:
        """Reads."""
        return ""

    return resource(uri, name="r")(read)


def a_prompt(name: str) -> Prompt:
    async def say() -> str:
        """Says."""
        return ""

    return prompt(name)(say)


def a_room(name: str, **offers: Any) -> OpenRoom:
    return OpenRoom(Room(name=name, title=name, instructions="", open=nothing, **offers), None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"tools": [a_tool("same")]}, {"tools": [a_tool("same")]}),
        ({"tools": [a_tool("same")]}, {"tools": [a_tool("other", "same")]}),
        ({"tools": [a_tool("a", "same")]}, {"tools": [a_tool("b", "same")]}),
        ({"resources": [a_resource("lab://same")]}, {"resources": [a_resource("lab://same")]}),
        ({"prompts": [a_prompt("same")]}, {"prompts": [a_prompt("same")]}),
    ],
)
@pytest.mark.requirement("rooms:name-conflict")
def test_two_rooms_with_one_name_refuse_to_start_together(one: dict[str, Any], other: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match="already taken by room 'first'"):
        Registry([a_room("first", **one), a_room("second", **other)], INFO)


class NoTasks:
    """A book without a task."""

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        raise NotFound("There is no such task.")

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        raise NotFound("There is no such task.")

    async def cancel(self, principal: Principal, task_id: str) -> None:
        raise NotFound("There is no such task.")

    def address(self, task_id: str) -> str:
        return f"none://{task_id}"


@pytest.mark.requirement("mcp:tasks:offered")
def test_tasks_are_offered_where_a_room_keeps_them_and_the_revision_knows_them() -> None:
    registry = Registry([a_room("plain"), a_room("late", tasks=lambda _: NoTasks())], INFO)

    knowing = [name for name, revision in REVISIONS.items() if "extensions" in registry.capabilities(revision)]
    assert knowing == ["2026-07-28"]
    assert registry.capabilities(NEWEST_MODERN)["extensions"] == {"io.modelcontextprotocol/tasks": {}}


@pytest.mark.requirement("mcp:tasks:offered")
def test_a_tool_cannot_put_answers_off_into_a_room_without_tasks() -> None:
    async def work(call: Call[None]) -> str:
        """Works."""
        return ""

    with pytest.raises(Misconfigured, match="has no `tasks`"):
        Registry([a_room("plain", tools=[tool("late", task="optional")(work)])], INFO)


@pytest.mark.requirement("mcp:capabilities")
def test_nothing_is_claimed_that_no_room_offers() -> None:
    assert Registry([a_room("empty")], INFO).capabilities(NEWEST_MODERN) == {"logging": {}}
    only_tools = Registry([a_room("tools", tools=[a_tool("t")])], INFO).capabilities(NEWEST_LEGACY)
    assert only_tools.keys() == {"tools", "logging"}
    prompts = Registry([a_room("prompts", prompts=[a_prompt("p")])], INFO)
    assert "completions" not in prompts.capabilities(REVISIONS["2024-11-05"])
    assert "completions" in prompts.capabilities(REVISIONS["2025-03-26"])


@given(st.integers(1, 12), st.integers(1, 5))
@pytest.mark.requirement("mcp:pagination:pages")
def test_pages_are_full_but_for_the_last_and_miss_nothing(count: int, page: int) -> None:
    import json

    tools = [a_tool(f"t{number}") for number in range(count)]
    registry = Registry([a_room("many", tools=tools)], INFO, page=page)
    names: list[str] = []
    sizes: list[int] = []
    cursor: str | None = None
    while True:
        body, last = registry.pages("tools/list", NEWEST_LEGACY, LOCAL).page(cursor)
        shown = json.loads(body)
        names += [entry["name"] for entry in shown["tools"]]
        sizes.append(len(shown["tools"]))
        cursor = shown.get("nextCursor")
        assert last == (cursor is None)
        if last:
            break
    assert names == [entry.name for entry in tools]
    assert all(size == page for size in sizes[:-1])
    assert 1 <= sizes[-1] <= page


@pytest.mark.requirement("mcp:tools:call:unknown-tool")
def test_a_very_long_unknown_name_is_quoted_in_part() -> None:
    registry = Registry([a_room("tools", tools=[a_tool("t")])], INFO)
    with pytest.raises(ProtocolError) as refused:
        registry.tool("x" * 100_000, LOCAL)
    assert len(refused.value.message) < 200
