"""The search tools: find a tool by what it does, read its schemas, call it.

With them a client needs no list of all tools. They belong to no room, and show and run what the caller may use.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.words import words
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, resource, tool
from pentad.mcp.messages import CALL_TOOL
from pentad.mcp.registry import BoundTool, Registry

ALWAYS_LOADED: Final = {"anthropic/alwaysLoad": True}
"""Claude Code keeps these tools loaded, where it defers all others. Listed only in lists that have nothing else."""
TOOL_URI: Final = "pentad://tools/"
_MOST_FOUND: Final = 50
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STEM: Final = 4
"""Longer words match if they begin alike: `record` finds `records`, `delete` finds `deletes`."""
_WEIGHTS: Final = (4, 3, 2, 1)
"""Of a word in the name, the title or tags, the first paragraph of the description, and anywhere else."""


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """The service of the search tools."""

    registry: Registry


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
            description=first_paragraph(one.declared.description),
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
    return ToolResult(structured=await _described(call, arguments.name))


async def _described(call: Call[ToolSearch], name: str) -> dict[str, Any]:
    registry = call.service.registry
    usable = {one.declared.name: one for one in await registry.usable_tools(call.principal)}
    bound = registry.tools.get(name) or usable.get(name)
    if bound is None or not call.principal.may(bound.room, bound.declared.action):
        raise NotFound(
            f"There is no tool {name[:100]!r} for you here.",
            hint=did_you_mean(name, usable) or "search_tools finds tools by what they do.",
        )
    return {"room": bound.room, **registry.entry(bound, detailed=True)}


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


@resource(TOOL_URI + "{name}", name="Tool", mime_type="application/json")
async def tool_resource(name: str, call: Call[ToolSearch]) -> str:
    """The complete description of a tool, as describe_tool returns it."""
    return msgspec.json.encode(await _described(call, name)).decode()


SEARCH_TOOLS: Final = (search_tools, describe_tool, call_tool)


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
        words(first_paragraph(declared.description)),
        words(" ".join([declared.description, *argument_texts(declared.input_schema)])),
    )
    return next((weight for weight, place in zip(_WEIGHTS, places, strict=True) if _has(word, place)), 0)


def _has(word: str, place: list[str]) -> bool:
    return any(
        one == word or (min(len(one), len(word)) >= _STEM and (one.startswith(word) or word.startswith(one)))
        for one in place
    )


def argument_texts(schema: Any) -> Iterable[str]:
    """The names and descriptions of a tool's arguments."""
    for name, one in schema.get("properties", {}).items():
        yield name
        yield str(one.get("description", ""))


def _arguments(bound: BoundTool) -> list[str]:
    schema = bound.declared.input_schema
    required = schema.get("required", ())
    return [name if name in required else f"{name}?" for name in schema.get("properties", {})]


def first_paragraph(text: str) -> str:
    """The first paragraph of a description, as one line."""
    return " ".join(text.partition("\n\n")[0].split())
