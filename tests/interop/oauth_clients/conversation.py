"""Shared by the Python clients: orders from stdin, answers on stdout, and a listener for the redirect.

Each order is a JSON line (`{"do": "call", "name": ..., "arguments": {...}}`) and ends with one answer, `{"done": ...}`
or `{"failed": "..."}`. Before that, `{"open": URL}` asks for a browser. The scripts run in the clients' own
environments, so nothing of Pentad can be imported here.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

Orders = dict[str, Callable[..., Awaitable[Any]]]
SECONDS = 30.0


def say(**line: Any) -> None:
    print(json.dumps(line, default=str), flush=True)  # noqa: T201


async def obey(orders: Orders) -> None:
    """Carry out orders until stdin ends."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        try:
            say(done=await orders[order.pop("do")](**order))
        except Exception as error:  # noqa: BLE001  the tests judge it
            traceback.print_exc()
            say(failed=_reason(error))


def _reason(error: BaseException) -> str:
    """The innermost reason: the clients wrap failures in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def credentials(client: Any, tokens: Any) -> dict[str, Any]:
    """A client's current registration and tokens, as models of the SDK."""
    return {
        "client_id": client.client_id if client else None,
        "client_secret": client.client_secret if client else None,
        **(tokens.model_dump(exclude_none=True) if tokens else {}),
    }


class Memory:
    """Where a client of the official SDK keeps its registration and its tokens."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class Redirects:
    """Listens at the redirect URI."""

    def __init__(self) -> None:
        self._queries: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def listen(self) -> str:
        """Start, and return the redirect URI."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"

    async def take(self) -> dict[str, str]:
        """The parameters of the next redirect."""
        return await asyncio.wait_for(self._queries.get(), SECONDS)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode("ascii")
        parts = urlsplit(target)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>Back</title>Back.")
        await writer.drain()
        writer.close()
        if parts.path == "/callback":
            self._queries.put_nowait({name: values[0] for name, values in parse_qs(parts.query).items()})
