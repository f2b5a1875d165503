"""The tools the conformance suites call by name: every content kind, errors, logs, progress, changes, streams."""

import asyncio
from typing import Literal

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.content import Audio, Contents, Embedded, Image, Link, Text
from pentad.mcp.declarations import Tool, ToolResult, tool
from tests.conformance.samples import PNG, WAV
from tests.conformance.schemas import JSON_SCHEMA_2020_12
from tests.conformance.service import WATCHED, Fixtures

_PAUSE = 0.05  # the suites want the messages of one call this far apart
_HOLD = 20.0
_PATIENCE = 5.0


class Address(Arguments):
    street: str | None = None
    city: str | None = None


class Contact(Arguments):
    name: str | None = None
    address: Address | None = None
    contact_method: Literal["phone", "email"] | None = Field(default=None, alias="contactMethod")
    phone: str | None = None
    email: str | None = None


class Routed(Arguments):
    region: str = Field(description="Where to.", json_schema_extra={"x-mcp-header": "Region"})
    retries: int = Field(default=0, description="How often.", json_schema_extra={"x-mcp-header": "Retries"})
    dry: bool = Field(default=False, description="Only look.", json_schema_extra={"x-mcp-header": "Dry-Run"})


class Words(Arguments):
    text: str = Field(description="What to say again.")


class Echoed(BaseModel):
    text: str
    length: int


class Summands(Arguments):
    a: int
    b: int


class Size(Arguments):
    characters: int = Field(ge=0, le=900_000)


class Key(Arguments):
    key: str


@tool("test_simple_text", read_only=True)
async def simple_text() -> str:
    """Returns one text."""
    return "This is a simple text response for testing."


@tool("test_image_content", read_only=True)
async def image_content() -> ToolResult:
    """Returns one picture."""
    return ToolResult([Image.of(PNG, "image/png")])


@tool("test_audio_content", read_only=True)
async def audio_content() -> ToolResult:
    """Returns one sound."""
    return ToolResult([Audio.of(WAV, "audio/wav")])


@tool("test_embedded_resource", read_only=True)
async def embedded_resource() -> ToolResult:
    """Returns a resource inside the answer."""
    text = "This is an embedded resource content."
    return ToolResult([Embedded(resource=Contents.of("test://embedded-resource", text))])


@tool("test_multiple_content_types", read_only=True)
async def multiple_content_types() -> ToolResult:
    """Returns a text, a picture and a resource."""
    carried = Contents.of("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json")
    return ToolResult(
        [Text(text="Multiple content types test:"), Image.of(PNG, "image/png"), Embedded(resource=carried)]
    )


@tool("test_resource_link", read_only=True)
async def resource_link() -> ToolResult:
    """Returns a link to a resource."""
    return ToolResult([Link(uri="test://static-text", name="static-text", mime_type="text/plain")])


@tool("test_error_handling", read_only=True)
async def error_handling() -> str:
    """Always fails, in words."""
    raise InvalidInput("This tool intentionally returns an error for testing.")


@tool("test_tool_with_logging", read_only=True)
async def tool_with_logging(call: Call[Fixtures]) -> str:
    """Logs three lines while it works."""
    await call.log("info", "Tool execution started")
    await asyncio.sleep(_PAUSE)
    await call.log("info", "Tool processing data")
    await asyncio.sleep(_PAUSE)
    await call.log("info", "Tool execution completed")
    return "Tool with logging executed successfully"


@tool("test_logging_tool", read_only=True)
async def logging_tool(call: Call[Fixtures]) -> str:
    """Logs a line, for those who asked for log lines."""
    await call.log("info", "A log line of test_logging_tool", logger="conformance")
    return "Logged."


@tool("test_tool_with_progress", read_only=True)
async def tool_with_progress(call: Call[Fixtures]) -> str:
    """Reports progress while it works."""
    await call.progress(0, 100, "Completed step 0 of 100")
    await asyncio.sleep(_PAUSE)
    await call.progress(50, 100, "Completed step 50 of 100")
    await asyncio.sleep(_PAUSE)
    await call.progress(100, 100, "Completed step 100 of 100")
    return f"Progress token: {call.meta.progress_token}"


@tool("test_reconnection", read_only=True)
async def reconnection(call: Call[Fixtures]) -> str:
    """Ends its stream early; the answer waits for the client to come back."""
    await call.peer.close_stream()
    await asyncio.sleep(_PAUSE)
    return "Reconnection test completed successfully."


@tool("test_trigger_tool_change")
async def trigger_tool_change(call: Call[Fixtures]) -> str:
    """Announces that the list of tools has changed."""
    await call.service.announce("tools")
    return "Announced a change of the tools."


@tool("test_trigger_prompt_change")
async def trigger_prompt_change(call: Call[Fixtures]) -> str:
    """Announces that the list of prompts has changed."""
    await call.service.announce("prompts")
    return "Announced a change of the prompts."


@tool("test_trigger_resource_change")
async def trigger_resource_change(call: Call[Fixtures]) -> str:
    """Announces that the list of resources has changed."""
    await call.service.announce("resources")
    return "Announced a change of the resources."


@tool("test_trigger_resource_update")
async def trigger_resource_update(call: Call[Fixtures]) -> str:
    """Changes the watched resource."""
    await call.service.touch_watched()
    return f"Changed {WATCHED}."


@tool("json_schema_2020_12_tool", read_only=True, input_schema=JSON_SCHEMA_2020_12)
async def json_schema_2020_12(arguments: Contact) -> str:
    """Takes arguments described with the newer keywords of JSON Schema."""
    return f"Received {arguments.model_dump_json(by_alias=True, exclude_none=True)}"


@tool("test_custom_headers", read_only=True)
async def custom_headers(arguments: Routed) -> str:
    """Takes arguments that clients repeat in HTTP headers."""
    return f"region={arguments.region} retries={arguments.retries} dry={arguments.dry}"


@tool("test_echo", read_only=True)
async def echo(arguments: Words) -> Echoed:
    """Says a text again, as data."""
    return Echoed(text=arguments.text, length=len(arguments.text))


@tool("test_add", read_only=True)
async def add(arguments: Summands) -> str:
    """Adds two integers."""
    return str(arguments.a + arguments.b)


@tool("test_big_result", read_only=True)
async def big_result(arguments: Size) -> str:
    """Returns a text of the wanted size."""
    return "0123456789abcdef" * (arguments.characters // 16) + "." * (arguments.characters % 16)


@tool("test_crash", read_only=True)
async def crash() -> str:
    """Breaks as a programming mistake would."""
    raise RuntimeError("canary-4711: the text of this exception must never reach a client")


@tool("test_hold", read_only=True)
async def hold(arguments: Key, call: Call[Fixtures]) -> str:
    """Reports progress once and then waits to be cancelled."""
    cancelled = call.service.cancelled(arguments.key)
    try:
        await call.progress(0, 1, "holding")
        await asyncio.sleep(_HOLD)
    except asyncio.CancelledError:
        cancelled.set()
        raise
    return "Nobody cancelled this call."


@tool("test_held", read_only=True)
async def held(arguments: Key, call: Call[Fixtures]) -> str:
    """Says whether the held call of this key was cancelled, waiting a moment for it."""
    try:
        await asyncio.wait_for(call.service.cancelled(arguments.key).wait(), _PATIENCE)
    except TimeoutError:
        return "not cancelled"
    return "cancelled"


TOOLS: tuple[Tool, ...] = (
    simple_text,
    image_content,
    audio_content,
    embedded_resource,
    multiple_content_types,
    resource_link,
    error_handling,
    tool_with_logging,
    logging_tool,
    tool_with_progress,
    reconnection,
    trigger_tool_change,
    trigger_prompt_change,
    trigger_resource_change,
    trigger_resource_update,
    json_schema_2020_12,
    custom_headers,
    echo,
    add,
    big_result,
    crash,
    hold,
    held,
)
