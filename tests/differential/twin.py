"""A twin of the conformance room's simple fixtures on the official SDK's low-level server.

Runs inside the SDK's own environment, as a script: `python twin.py PORT`. It does what Pentad does wherever the SDK
leaves the choice to the server, so that what differs is the protocol layer alone.
"""

import sys
from typing import Any

import jsonschema
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

TEXT = "This is a simple text response for testing."
NONE: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
SCHEMAS: dict[str, dict[str, Any]] = {
    "test_simple_text": NONE,
    "test_error_handling": NONE,
    "test_add": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    "test_custom_headers": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "retries": {"type": "integer", "x-mcp-header": "Retries"},
        },
        "required": ["region"],
        "additionalProperties": False,
    },
}
PROMPTS = {"test_simple_prompt": [], "test_prompt_with_arguments": ["arg1", "arg2"]}


def said(text: str, *, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    tools = [types.Tool(name=name, description=name, input_schema=schema) for name, schema in SCHEMAS.items()]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    schema = SCHEMAS.get(params.name)
    if schema is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        jsonschema.validate(params.arguments or {}, schema)
    except jsonschema.ValidationError as error:
        return said(error.message, failed=True)
    return said(TEXT, failed=params.name == "test_error_handling")


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri="test://static-text", name="static")])


async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    if str(params.uri) != "test://static-text":
        modern = ctx.protocol_version >= "2026"
        raise MCPError(types.INVALID_PARAMS if modern else -32002, "Unknown resource", {"uri": str(params.uri)})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=TEXT)])


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name=name) for name in PROMPTS])


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    if params.name not in PROMPTS or any(name not in (params.arguments or {}) for name in PROMPTS[params.name]):
        raise MCPError(types.INVALID_PARAMS, "Unknown prompt, or an argument is missing")
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=TEXT))
    return types.GetPromptResult(messages=[message])


async def set_level(ctx: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def complete(ctx: Any, params: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[]))


def main(port: int) -> None:
    server: Server[Any] = Server(
        "twin",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_set_logging_level=set_level,
        on_subscribe_resource=set_level,
        on_unsubscribe_resource=set_level,
        on_completion=complete,
        get_tool_input_schema=SCHEMAS.get,
    )
    uvicorn.run(server.streamable_http_app(), port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]))
