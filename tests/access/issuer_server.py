"""A real HTTP server on this machine that plays an issuer: it serves documents by path and notes what was asked."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.access.http_responder import Answer, responding


@dataclass
class IssuerServer:
    """`documents` by path; a value that begins with `/` or `http` is where a redirect leads."""

    port: int = 0
    documents: dict[str, bytes | str] = field(default_factory=dict[str, bytes | str])
    asked: list[str] = field(default_factory=list[str])

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, path: str, _headers: dict[str, str], _body: str) -> Answer:
        self.asked.append(path)
        found = self.documents.get(path)
        if found is None:
            return 404, {}, b""
        if isinstance(found, str):
            return 302, {"Location": found}, b""
        return 200, {"Content-Type": "application/json"}, found


@asynccontextmanager
async def issuer_server() -> AsyncGenerator[IssuerServer]:
    """The server, while the block runs."""
    made = IssuerServer()
    async with responding(made.answer) as made.port:
        yield made
