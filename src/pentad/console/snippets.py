"""A call in the form other programs make it: curl, JSON-RPC, Python, TypeScript and the command line. It contains no
key, only the variable PENTAD_KEY."""

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from pentad.kernel.pages import Code, Tab, Tabs
from pentad.mcp.revisions import NEWEST_MODERN

_NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_META: Final = "io.modelcontextprotocol"


def snippet_tabs(method: str, name: str, arguments: Mapping[str, Any], *, url: str, program: str) -> Tabs:
    """The call in each language, ready to copy."""
    params: dict[str, Any] = {_NAMES[method]: name}
    if method != "resources/read":
        params["arguments"] = dict(arguments)
    every = [
        Tab("curl", "curl", [Code(_curl(method, name, params, url), copy=True)]),
        Tab("json-rpc", "JSON-RPC", [Code(_pretty(_message(method, params)), copy=True)]),
        Tab("python", "Python", [Code(_python(method, name, arguments, url), copy=True)]),
        Tab("typescript", "TypeScript", [Code(_typescript(method, params, url), copy=True)]),
    ]
    if method == "tools/call":
        every.append(Tab("cli", "Command line", [Code(_command(name, arguments, url, program), copy=True)]))
    return Tabs(every)


def _message(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    meta = {
        f"{_META}/protocolVersion": NEWEST_MODERN.name,
        f"{_META}/clientInfo": {"name": "example", "version": "1"},
        f"{_META}/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def _curl(method: str, name: str, params: Mapping[str, Any], url: str) -> str:
    lines = [
        f"curl {shlex.quote(url)}",
        '-H "Authorization: Bearer $PENTAD_KEY"',
        "-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'",
        f"-H 'MCP-Protocol-Version: {NEWEST_MODERN.name}' -H 'Mcp-Method: {method}'",
        f"-H {shlex.quote(f'Mcp-Name: {name}')}",
        f"-d {shlex.quote(json.dumps(_message(method, params), ensure_ascii=False))}",
    ]
    return " \\\n  ".join(lines)


def _python(method: str, name: str, arguments: Mapping[str, Any], url: str) -> str:
    shown = {
        "tools/call": f"client.call_tool({name!r}, {_literal(arguments)})",
        "prompts/get": f"client.get_prompt({name!r}, {_literal(arguments)})",
        "resources/read": f"client.read_resource({name!r})",
    }[method]
    return f"""# pip install fastmcp
import asyncio
import os

from fastmcp import Client


async def main():
    async with Client({url!r}, auth=os.environ["PENTAD_KEY"]) as client:
        print(await {shown})


asyncio.run(main())
"""


def _typescript(method: str, params: Mapping[str, Any], url: str) -> str:
    function = {"tools/call": "callTool", "prompts/get": "getPrompt", "resources/read": "readResource"}[method]
    return f"""// npm install @modelcontextprotocol/client
import {{ Client, StreamableHTTPClientTransport }} from "@modelcontextprotocol/client";

const client = new Client({{ name: "example", version: "1" }});
await client.connect(new StreamableHTTPClientTransport(new URL({json.dumps(url)}), {{
  requestInit: {{ headers: {{ Authorization: `Bearer ${{process.env.PENTAD_KEY}}` }} }},
}}));
console.log(await client.{function}({_pretty(params)}));
await client.close();
"""


def _command(name: str, arguments: Mapping[str, Any], url: str, program: str) -> str:
    given = json.dumps(dict(arguments), ensure_ascii=False)
    return f"echo {shlex.quote(given)} |\n  {program} call {name} --args - --url {shlex.quote(url)}"


def _literal(value: Any) -> str:
    """JSON as a Python literal."""
    return repr(json.loads(json.dumps(value)))


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
