"""A real HTTP server on this machine that plays an issuer: it serves documents by path and notes what was asked."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class IssuerServer:
    """`documents` by path; a value that begins with `/` or `http` is where a redirect leads."""

    port: int = 0
    documents: dict[str, bytes | str] = field(default_factory=dict[str, bytes | str])
    asked: list[str] = field(default_factory=list[str])

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode()
            self.asked.append(path)
            found = self.documents.get(path)
            if found is None:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            elif isinstance(found, str):
                start = f"HTTP/1.1 302 Found\r\nLocation: {found}\r\n"
                writer.write(f"{start}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
            else:
                start = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(found)}\r\n"
                writer.write(f"{start}Connection: close\r\n\r\n".encode() + found)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def issuer_server() -> AsyncGenerator[IssuerServer]:
    """The server, while the block runs."""
    made = IssuerServer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
