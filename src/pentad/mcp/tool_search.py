"""The search tools: find a tool by what it does, read its schemas, call it, and search all rooms at once.

With them a client needs no list of all tools. They belong to no room, and show and run what the caller may use.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.kernel.words import words
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.mcp.messages import CALL_TOOL
from pentad.mcp.registry import BoundTool, Registry

ALWAYS_LOADED: Final = {"anthropic/alwaysLoad": True}
"""Claude Code keeps these tools loaded, where it defers all others. Listed only in lists that have nothing else."""
_MOST_FOUND: Final = 50
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STEM: Final = 4
"""Longer words match if they begin alike: `record` finds `records`, `delete` finds `deletes`."""
_WEIGHTS: Final = (4, 3, 2, 1)
"""Of a word in the name, the title or tags, the first paragraph of the description, and anywhere else."""


class ToolCaller(Protocol):
    """Calls a tool with the rights, limits and audit entry of the caller; `InternalClient` does."""

    async def call_tool(self, principal: Principal, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """The service of the search tools."""

    registry: Registry
    caller: ToolCaller


class SearchArguments(Arguments):
    query: Annotated[str, Field(max_length=500, description="What you want to do. Empty lists all tools.")] = ""
    room: Annotated[str | None, Field(max_length=64)] = None
    limit: Annotated[int, Field(ge=1, le=_MOST_FOUND)] = 8


class FoundTool(BaseModel):
    name: str
    room: str
    description: str
    arguments: list[str]
    """`name?` is optional."""


class FoundTools(BaseModel):
    tools: list[FoundTool]
    total: int


@tool("search_tools", title="Find tools", read_only=True, meta=ALWAYS_LOADED)
async def search_tools(arguments: SearchArguments, call: Call[ToolSearch]) -> FoundTools:
    """Find tools by what they do, best match first. Not all tools are listed: search here before you give up.

    Next: describe_tool for the schema, call_tool to run it.
    """
    tools = await call.service.registry.usable_tools(call.principal)
    usable = [one for one in tools if arguments.room in (None, one.room)]
    found = _ranked(arguments.query, usable)
    shown = [
        FoundTool(
            name=one.declared.name,
            room=one.room,
            description=_first_paragraph(one.declared.description),
            arguments=_arguments(one),
        )
        for one in found[: arguments.limit if arguments.query else _MOST_FOUND]
    ]
    return FoundTools(tools=shown, total=len(found))


class DescribeArguments(Arguments):
    name: Annotated[str, Field(max_length=100)]


@tool("describe_tool", title="Describe a tool", read_only=True, meta=ALWAYS_LOADED)
async def describe_tool(arguments: DescribeArguments, call: Call[ToolSearch]) -> ToolResult:
    """The complete description of a tool, with its input and output schema."""
    registry = call.service.registry
    usable = {one.declared.name: one for one in await registry.usable_tools(call.principal)}
    bound = registry.tools.get(arguments.name) or usable.get(arguments.name)
    if bound is None or not call.principal.may(bound.room, bound.declared.action):
        raise NotFound(
            f"There is no tool {arguments.name[:100]!r} for you here.",
            hint=did_you_mean(arguments.name, usable) or "search_tools finds tools by what they do.",
        )
    return ToolResult(structured={"room": bound.room, **registry.entry(bound, detailed=True)})


class CallArguments(Arguments):
    name: Annotated[str, Field(max_length=100)]
    arguments: Annotated[dict[str, Any], Field(description="As its inputSchema says.", default_factory=dict)]


@tool(CALL_TOOL, title="Call a tool", action="read", destructive=True, open_world=True, meta=ALWAYS_LOADED)
async def call_tool(arguments: CallArguments) -> ToolResult:
    """Run a tool that search_tools found, with the same checks as a direct call. Returns its result."""
    # The dispatcher unwraps every valid call before it gets here.
    if arguments.name == CALL_TOOL:
        raise InvalidInput(f"{CALL_TOOL} does not call itself.", hint="Name the tool to run.")
    raise InvalidInput(f"`arguments` of {arguments.name[:100]!r} must be an object, not text.", hint="Send JSON.")


class SearchRoomsArguments(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=500)]
    rooms: Annotated[list[str] | None, Field(description="Default: all.")] = None
    limit: Annotated[int, Field(ge=1, le=20, description="Per room.")] = 5


@tool("search", title="Search all rooms", read_only=True, meta=ALWAYS_LOADED, listed="room")
async def search(arguments: SearchRoomsArguments, call: Call[ToolSearch]) -> ToolResult:
    """Search the content of all rooms by words. Returns the best matches of each room, and the tool that found them."""
    tools = [
        one
        for one in await call.service.registry.usable_tools(call.principal)
        if one.declared.finds is not None and (arguments.rooms is None or one.room in arguments.rooms)
    ]
    found = await asyncio.gather(*(_search_room(one, arguments, call) for one in tools))
    return ToolResult(structured={"rooms": found})


async def _search_room(bound: BoundTool, arguments: SearchRoomsArguments, call: Call[ToolSearch]) -> Mapping[str, Any]:
    declared = bound.declared
    given: dict[str, Any] = {str(declared.finds): arguments.query}
    if "limit" in declared.input_schema["properties"]:
        given["limit"] = arguments.limit
    found: dict[str, Any] = {"room": bound.room, "tool": declared.name, "arguments": given}
    try:
        result = await call.service.caller.call_tool(call.principal, declared.name, given)
    except PentadError as error:
        return {**found, "error": error.sentence()}
    if result.get("isError"):
        return {**found, "error": result["content"][0]["text"]}
    return {**found, "found": result.get("structuredContent")}


SEARCH_TOOLS: Final = (search_tools, describe_tool, call_tool, search)


def _ranked(query: str, tools: list[BoundTool]) -> list[BoundTool]:
    """The tools that match a word of the query, the best first. A word that many tools have counts little."""
    asked = set(words(query))
    if not asked:
        return tools
    matches = [{word: best for word in asked if (best := _weight(word, one))} for one in tools]
    frequency = Counter(word for match in matches for word in match)
    scored = [
        (sum(weight / frequency[word] for word, weight in match.items()), one)
        for match, one in zip(matches, tools, strict=True)
        if match
    ]
    return [one for _, one in sorted(scored, key=lambda pair: -pair[0])]


def _weight(word: str, bound: BoundTool) -> int:
    declared = bound.declared
    places = (
        words(_CAPITAL.sub(" ", declared.name)),
        words(" ".join([declared.title or "", bound.room, *declared.tags])),
        words(_first_paragraph(declared.description)),
        words(" ".join([declared.description, *_texts(declared.input_schema)])),
    )
    return next((weight for weight, place in zip(_WEIGHTS, places, strict=True) if _has(word, place)), 0)


def _has(word: str, place: list[str]) -> bool:
    return any(
        one == word or (min(len(one), len(word)) >= _STEM and (one.startswith(word) or word.startswith(one)))
        for one in place
    )


def _texts(schema: Any) -> Iterable[str]:
    """The names and descriptions of a tool's arguments."""
    for name, one in schema.get("properties", {}).items():
        yield name
        yield str(one.get("description", ""))


def _arguments(bound: BoundTool) -> list[str]:
    schema = bound.declared.input_schema
    required = schema.get("required", ())
    return [name if name in required else f"{name}?" for name in schema.get("properties", {})]


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())
