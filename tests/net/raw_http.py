"""A running server and a client that can misbehave: bytes in, bytes out."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pentad.kernel.default_limits import Limits
from pentad.net.forwarded import TrustedProxies
from pentad.net.http_server import NO_PROXIES, serve

PATIENCE = 60.0
HONEST = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"


class Running:
    """A server in this loop."""

    def __init__(self, port: int, stopping: asyncio.Event, task: asyncio.Task[None]) -> None:
        self.port = port
        self.stopping = stopping
        self.task = task
        self.peers: list[Peer] = []

    async def connect(self, data: bytes = b"", receive_buffer: int | None = None) -> "Peer":
        client = socket.socket()
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=client)
        writer.write(data)
        self.peers.append(Peer(reader, writer))
        return self.peers[-1]


class Peer:
    """One connection to the server; every wait is bounded."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    async def until(self, mark: bytes) -> bytes:
        return await asyncio.wait_for(self._reader.readuntil(mark), PATIENCE)

    async def some(self, most: int) -> bytes:
        return await asyncio.wait_for(self._reader.read(most), PATIENCE)

    async def rest(self) -> bytes:
        """All that still comes until the server closes; a reset is an end as well."""
        try:
            return await asyncio.wait_for(self._reader.read(), PATIENCE)
        except ConnectionError:
            return b""

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return


@asynccontextmanager
async def running(
    app: Any,
    *,
    grace_seconds: int = 5,
    write_seconds: float = 5.0,
    proxies: TrustedProxies = NO_PROXIES,
    **limits: Any,
) -> AsyncGenerator[Running]:
    stopping = asyncio.Event()
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        serve(
            app,
            port=0,
            limits=Limits(**limits),
            ready=ready.set_result,
            stopping=stopping,
            grace_seconds=grace_seconds,
            write_seconds=write_seconds,
            proxies=proxies,
        )
    )
    await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
    if not ready.done():
        await task
    server = Running(ready.result(), stopping, task)
    try:
        yield server
    finally:
        for peer in server.peers:
            await peer.close()
        stopping.set()
        await asyncio.wait_for(task, PATIENCE * 2)


async def answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
