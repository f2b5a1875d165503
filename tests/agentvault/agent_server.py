"""An agent's side of the wire, written by the test: every request is kept, every answer is what the test says."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from pentad.agentvault import AgentCard, parse_agent_card_from_dict
from tests.net.test_fetch import answering

Answer = Callable[["Received"], Any]


@dataclass
class Received:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class AgentServer:
    """What came in, and the address it came in at."""

    url: str
    received: list[Received] = field(default_factory=list)

    def card(self, *schemes: dict[str, Any], **members: Any) -> AgentCard:
        return parse_agent_card_from_dict(card(self.url, *schemes, **members))


def card(url: str = "https://agent.example/a2a", *schemes: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The smallest card there is, with what the test adds."""
    return {
        "schemaVersion": "1.0",
        "humanReadableId": "acme/echo",
        "agentVersion": "1.0.0",
        "name": "Echo",
        "description": "Says it again.",
        "url": url,
        "provider": {"name": "Acme"},
        "capabilities": {"a2aVersion": "1.0"},
        "authSchemes": list(schemes) or [{"scheme": "none"}],
        **members,
    }


def result(value: Any) -> Answer:
    """A JSON-RPC result for whatever was asked."""
    return lambda received: {"jsonrpc": "2.0", "id": received.json["id"], "result": value}


def refusal(code: int, message: str, data: Any = None) -> Answer:
    """A JSON-RPC error."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return lambda received: {"jsonrpc": "2.0", "id": received.json["id"], "error": error}


def events(*frames: str) -> Answer:
    """A stream of these frames."""
    return lambda received: web.Response(text="".join(frames), content_type="text/event-stream")


@asynccontextmanager
async def agent(answer: Answer, **paths: Answer) -> AsyncGenerator[AgentServer]:
    """An agent that gives `answer` to everything, and another one on the paths named."""
    server = AgentServer("")

    async def handler(request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = Received(request.path, headers, await request.read())
        server.received.append(received)
        said = paths.get(request.path.strip("/"), answer)(received)
        if isinstance(said, web.StreamResponse):
            return said
        return web.Response(body=json.dumps(said).encode(), content_type="application/json")

    async with answering(handler) as port:
        server.url = f"http://localhost:{port}/a2a"
        yield server
