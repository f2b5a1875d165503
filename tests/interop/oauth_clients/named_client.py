"""The official SDK's client under a name of your choice: `python named_client.py`, controlled by JSON lines.

`{"name": NAME, "url": URL, "headers": {...}}` connects and lists the tools. The answer is `{"tools": COUNT}`, or
`{"failed": REASON}`. Connections stay open until the input ends.
"""

import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import Implementation


async def connect(stack: AsyncExitStack, order: dict[str, Any]) -> int:
    """The number of tools that the server lists for a client of this name."""
    read, write, _ = await stack.enter_async_context(streamablehttp_client(order["url"], headers=order["headers"]))
    name = Implementation(name=order["name"], version="1")
    session = await stack.enter_async_context(ClientSession(read, write, client_info=name))
    await session.initialize()
    return len((await session.list_tools()).tools)


async def main() -> None:
    async with AsyncExitStack() as stack:
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            try:
                answer: dict[str, Any] = {"tools": await connect(stack, json.loads(line))}
            except Exception as error:  # noqa: BLE001  the tests judge it
                answer = {"failed": repr(error)}
            print(json.dumps(answer), flush=True)  # noqa: T201


anyio.run(main)
