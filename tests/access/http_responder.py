"""A small HTTP server on this machine, whose every answer a function gives."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

Answer = tuple[int, dict[str, str], bytes]
"""A status, headers and a body."""


@asynccontextmanager
async def responding(answer: Callable[[str, dict[str, str], str], Answer]) -> AsyncGenerator[int]:
    """Answer each request by its path, headers and body while the block runs; yields the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
            status, more, content = answer(head[0].split(" ")[1], headers, body)
            told = {**more, "Content-Length": str(len(content)), "Connection": "close"}
            lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in told.items()), "", ""]
            writer.write("\r\n".join(lines).encode() + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
