"""The official SDK's low-level server with the same tool as the echo room, tuned as well as it can be.

Run as a script by the interpreter of the rival's environment: `mcp_server.py stdio`, or `mcp_server.py http PORT`. The
handler is async, the arguments are checked by a pydantic model, answers are JSON rather than streams, and the schema
lookup is given, which spares the SDK a walk over `tools/list` on every modern call. Nothing of Pentad is imported.
"""

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import BaseModel, Field


class EchoArguments(BaseModel):
    text: str = Field(description="What to say back.", max_length=1000)


SCHEMA: dict[str, Any] = EchoArguments.model_json_schema()
TOOL = types.Tool(name="echo", description="Says back what it was told.", input_schema=SCHEMA)


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = EchoArguments.model_validate(params.arguments)
    return types.CallToolResult(content=[types.TextContent(type="text", text=arguments.text)])


def echo_server() -> Server[Any]:
    return Server(
        "rival",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema={"echo": SCHEMA}.get,
    )


async def serve_stdio() -> None:
    server = echo_server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def serve_http(port: int) -> None:
    import uvicorn

    site = echo_server().streamable_http_app(json_response=True)
    uvicorn.run(site, port=port, http="httptools", loop="uvloop", log_level="error", access_log=False)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(serve_stdio)
    else:
        serve_http(int(sys.argv[2]))
