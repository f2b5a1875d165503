"""The search tools: find a tool by what it does, read its schemas, and call it, without listing all tools.

They belong to no room; their service is the registry of the endpoint. They show and run what the caller may use.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec
from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Principal
from pentad.kernel.words import words
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.mcp.messages import CallToolParams
from pentad.mcp.registry import BoundTool, Registry

CALL_TOOL: Final = "call_tool"
_MOST_FOUND: Final = 50
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STEM: Final = 4
"""Longer words match if they begin alike: `record` finds `records`, `delete` finds `deletes`."""
_WEIGHTS: Final = (4, 3, 2, 1)
"""Of a word in the name, the title or tags, the first paragraph of the description, and anywhere else."""


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


@tool("search_tools", title="Find tools", read_only=True, meta={"anthropic/alwaysLoad": True})
async def search_tools(arguments: SearchArguments, call: Call[Registry]) -> FoundTools:
    """Find tools by what they do, best match first. Not all tools are listed: search here before you give up.

    Next: describe_tool for the schema, call_tool to run it.
    """
    usable = [one for one in _usable(call.service, call.principal) if arguments.room in (None, one.room)]
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


@tool("describe_tool", title="Describe a tool", read_only=True, meta={"anthropic/alwaysLoad": True})
async def describe_tool(arguments: DescribeArguments, call: Call[Registry]) -> ToolResult:
    """The complete description of a tool, with its input and output schema."""
    bound = call.service.tools.get(arguments.name)
    if bound is None or not call.principal.may(bound.room, bound.declared.action):
        names = [one.declared.name for one in _usable(call.service, call.principal)]
        raise NotFound(
            f"There is no tool {arguments.name[:100]!r} for you here.",
            hint=did_you_mean(arguments.name, names) or "search_tools finds tools by what they do.",
        )
    return ToolResult(structured={"room": bound.room, **call.service.entry(bound, detailed=True)})


class CallArguments(Arguments):
    name: Annotated[str, Field(max_length=100)]
    arguments: Annotated[dict[str, Any], Field(description="As its inputSchema says.", default_factory=dict)]


@tool(
    CALL_TOOL, title="Call a tool", action="read", destructive=True, open_world=True,
    meta={"anthropic/alwaysLoad": True}, read_schema=None,
)  # fmt: skip
async def call_tool(arguments: CallArguments) -> ToolResult:
    """Run a tool that search_tools found, with the same checks as a direct call. Returns its result."""
    # The dispatcher unwraps every valid call before it gets here; only arguments that needed a repair remain.
    raise InvalidInput(f"`arguments` of {arguments.name[:100]!r} must be an object, not text.", hint="Send JSON.")


SEARCH_TOOLS: Final = (search_tools, describe_tool, call_tool)


class _InnerCall(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


_decode_inner = msgspec.json.Decoder(_InnerCall).decode


def unwrapped(params: CallToolParams) -> CallToolParams:
    """The call inside a `call_tool`; the same params if there is none in it, so that validation says what is wrong."""
    try:
        inner = _decode_inner(params.arguments)
    except msgspec.MsgspecError:
        return params
    if bytes(inner.arguments)[:1] != b"{":
        return params
    return msgspec.structs.replace(params, name=inner.name, arguments=inner.arguments)


def _usable(registry: Registry, principal: Principal) -> list[BoundTool]:
    """The tools of rooms that the caller may call."""
    tools = {bound.declared.name: bound for bound in registry.tools.values() if bound.room}
    return [one for one in tools.values() if principal.may(one.room, one.declared.action)]


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
