"""fastmcp's OAuth client, with its own listener for the redirect: `python fastmcp_client.py URL [METADATA_URL]`."""

import asyncio
import sys
import webbrowser
from contextlib import AsyncExitStack
from typing import Any

from conversation import credentials, obey, say
from fastmcp import Client
from fastmcp.client.auth import OAuth


def show(address: str) -> bool:
    say(open=address)
    return True


async def main(url: str, metadata_url: str | None = None) -> None:
    webbrowser.open = show
    oauth = OAuth(client_metadata_url=metadata_url) if metadata_url else OAuth()
    async with AsyncExitStack() as stack:
        opened: list[Client] = []

        async def connect() -> None:
            opened.append(await stack.enter_async_context(Client(url, auth=oauth)))

        async def tools() -> list[str]:
            return [tool.name for tool in await opened[-1].list_tools()]

        async def call(name: str, arguments: dict[str, Any]) -> str:
            return (await opened[-1].call_tool(name, arguments)).content[0].text

        async def tokens() -> dict[str, Any]:
            return credentials(oauth.context.client_info, oauth.context.current_tokens)

        await obey({"connect": connect, "tools": tools, "call": call, "tokens": tokens})


asyncio.run(main(*sys.argv[1:]))
