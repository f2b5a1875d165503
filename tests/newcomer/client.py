"""Stands for `claude`, which a newcomer has: takes the printed command and connects with the official SDK. Runs inside
the SDK's own environment.

    python client.py mcp add --transport http NAME URL [--header 'Authorization: ...']

Without a header a client would open a browser for the login; here the login is only found, not done.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def call(url: str, headers: dict[str, str]) -> None:
    http = httpx2.AsyncClient(headers=headers)
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("list_avatars", {})
        if result.is_error or "charles-babbage" not in str(result.content):
            sys.exit(f"list_avatars answered {result}")
        print(f"Connected: {len(tools)} tools.")  # noqa: T201


def find_login(url: str) -> None:
    """What a client does first: a call without credentials, then the metadata that the refusal names."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30)
    except urllib.error.HTTPError as refused:
        challenge = refused.headers.get_all("WWW-Authenticate", [])
        named = [one.partition('resource_metadata="')[2].partition('"')[0] for one in challenge]
        (metadata,) = filter(None, named)
        with urllib.request.urlopen(metadata, timeout=30) as answer:
            if json.load(answer)["resource"] != url:
                sys.exit(f"{metadata} is about another resource")
        print("The login is found.")  # noqa: T201
    else:
        sys.exit("It answered without a login.")


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
        anyio.run(call, given.url, headers)
    else:
        find_login(given.url)


if __name__ == "__main__":
    main()
