"""A session with the MCP server at an address somebody wrote on the command line, for `pentad call --url`.

The way out is opened for exactly the host the user named.
"""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from pentad.kernel.errors import InvalidInput
from pentad.mcp.remote_server import LONGEST_CALL, MOST_BYTES, RemoteServer


@asynccontextmanager
async def remote_server(url: str, authorization: str | None) -> AsyncGenerator[RemoteServer]:
    """A session with the server at a URL, closed at the end."""
    from pentad.net.fetch import HttpFetcher
    from pentad.net.policy import FetchPolicy

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput("--url is not the address of a server.", hint="Write http://127.0.0.1:8700/mcp.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    # No redirects: the login is for the server the user named and for no other.
    policy = FetchPolicy(
        allow_hosts=frozenset({parts.hostname}),
        allow_http=True,
        ports=frozenset({port}),
        max_bytes=MOST_BYTES,
        max_redirects=0,
        timeout=LONGEST_CALL,
    )
    fetcher = HttpFetcher(policy)
    hint = "Give --token (or PENTAD_TOKEN), or --user NAME."
    server = RemoteServer(url, authorization, fetcher, login_hint=hint)
    try:
        await server.open()
        yield server
    finally:
        await server.close()
        await fetcher.close()


def authorization_header(token: str | None, user: str | None, password: str | None) -> str | None:
    """What to log in with: a key, or a name and a password."""
    if token is not None:
        return f"Bearer {token}"
    if user is not None:
        return "Basic " + base64.b64encode(f"{user}:{password or ''}".encode()).decode("ascii")
    return None
