"""Stands in for `claude`, which a newcomer has: takes the printed command and connects with the official SDK. Runs in
the SDK's own environment.

    python client.py mcp add --transport http NAME URL [--header 'Authorization: ...']

Without a header it logs in as Claude Code does: it opens the browser and waits for the redirect.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

sys.path.append(str(Path(__file__).parents[1] / "interop" / "oauth_clients"))
from conversation import Memory, Redirects


async def call(http: Any, url: str) -> None:
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("list_avatars", {})
        if result.is_error or "charles-babbage" not in str(result.content):
            sys.exit(f"list_avatars answered {result}")
        print(f"Connected: {len(tools)} tools.")  # noqa: T201


async def with_key(url: str, headers: dict[str, str]) -> None:
    await call(create_mcp_http_client(headers=headers), url)


async def with_login(url: str) -> None:
    redirects = Redirects()

    async def show(address: str) -> None:
        subprocess.Popen(["xdg-open", address])

    async def come_back() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**await redirects.take())

    described = OAuthClientMetadata(client_name="Claude Code", redirect_uris=[await redirects.listen()])
    provider = OAuthClientProvider(url, described, Memory(), show, come_back)
    await call(create_mcp_http_client(auth=provider), url)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verbs", nargs=2)
    parser.add_argument("--transport", required=True)
    parser.add_argument("name")
    parser.add_argument("url")
    parser.add_argument("--header", action="append", default=[])
    given = parser.parse_args()
    headers = {name: value.strip() for name, _, value in (one.partition(":") for one in given.header)}
    if headers:
        anyio.run(with_key, given.url, headers)
    else:
        anyio.run(with_login, given.url)


if __name__ == "__main__":
    main()
