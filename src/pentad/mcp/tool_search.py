"""The search tools: find a tool by what it does, read its schemas, call it.

With them a client does not need the full list of tools. They belong to no room, and find and run only tools the caller
may use.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

import msgspec
from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, resource, tool
from pentad.mcp.messages import CALL_TOOL
from pentad.mcp.registry import BoundTool, Registry

ALWAYS_LOADED: Final = {"anthropic/alwaysLoad": True}
"""Tells Claude Code to keep these tools loaded while it defers all others. Sent only in lists that contain nothing
else."""
TOOL_URI: Final = "pentad://tools/"
_MOST_FOUND: Final = 50


class ToolFinder(Protocol):
    """The search that ranks tools."""

    async def ranked(self, tools: Sequence[BoundTool], query: str, limit: int) -> list[BoundTool]:
        """The tools that match the query, best first."""
        ...


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """The service of the search tools."""

    registry: Registry
    finder: ToolFinder


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
    query = arguments.query.strip()
    found = await call.service.finder.ranked(usable, query, len(usable)) if query else usable
    shown = [
        FoundTool(
            name=one.declared.name,
            room=one.room,
            description=first_paragraph(one.declared.description),
            arguments=_arguments(one),
        )
        for one in found[: arguments.limit if query else _MOST_FOUND]
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
    # The dispatcher unwraps every valid call before this runs.
    if arguments.name == CALL_TOOL:
        raise InvalidInput(f"{CALL_TOOL} does not call itself.", hint="Name the tool to run.")
    raise InvalidInput(f"`arguments` of {arguments.name[:100]!r} must be an object, not text.", hint="Send JSON.")


@resource(TOOL_URI + "{name}", name="Tool", mime_type="application/json")
async def tool_resource(name: str, call: Call[ToolSearch]) -> str:
    """The complete description of a tool, as describe_tool returns it."""
    return msgspec.json.encode(await _described(call, name)).decode()


SEARCH_TOOLS: Final = (search_tools, describe_tool, call_tool)


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
