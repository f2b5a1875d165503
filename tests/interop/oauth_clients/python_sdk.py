"""The OAuth client of the official Python SDK, either major version: `python python_sdk.py URL [METADATA_URL]`."""

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import Any

import mcp
from conversation import Memory, Redirects, credentials, obey, say
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import auth
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

IS_FIRST = not hasattr(mcp, "Client")


async def main(url: str, metadata_url: str | None = None) -> None:
    redirects, memory = Redirects(), Memory()

    async def show(address: str) -> None:
        say(open=address)

    async def come_back() -> Any:
        query = await redirects.take()
        if IS_FIRST:
            return query["code"], query.get("state")
        return auth.AuthorizationCodeResult(**query)

    provider = OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="Python SDK", redirect_uris=[await redirects.listen()]),
        memory,
        show,
        come_back,
        client_metadata_url=metadata_url,
    )
    async with AsyncExitStack() as stack:
        sessions: list[Any] = []

        async def connect() -> None:
            http = await stack.enter_async_context(create_mcp_http_client(auth=provider))
            transport = streamable_http_client(url, http_client=http)
            if IS_FIRST:
                read, write, _ = await stack.enter_async_context(transport)
                session = await stack.enter_async_context(mcp.ClientSession(read, write))
                await session.initialize()
            else:
                session = await stack.enter_async_context(mcp.Client(transport))
            sessions.append(session)

        async def tools() -> list[str]:
            return [tool.name for tool in (await sessions[-1].list_tools()).tools]

        async def call(name: str, arguments: dict[str, Any]) -> str:
            return (await sessions[-1].call_tool(name, arguments)).content[0].text

        async def tokens() -> dict[str, Any]:
            return credentials(memory.client, memory.tokens)

        await obey({"connect": connect, "tools": tools, "call": call, "tokens": tokens})


asyncio.run(main(*sys.argv[1:]))
