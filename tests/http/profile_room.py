"""A room with its own MCP endpoint, paths open to every origin, and a route that describes itself."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pentad.mcp.http_exchange import HttpExchange
from pentad.platform import Mount, MountContext, Operation, Parameter, Platform, Room, described


class Colour(BaseModel):
    """A colour by name."""

    name: str = Field(min_length=1)


class Paint(BaseModel):
    colours: list[Colour]


class Echo:
    """Answers with the body it got, or the name of the verb."""

    async def post(self, exchange: HttpExchange) -> None:
        await exchange.reply(200, exchange.body)

    async def get(self, exchange: HttpExchange) -> None:
        await exchange.reply(405, b'"GET"')

    async def delete(self, exchange: HttpExchange) -> None:
        await exchange.reply(405, b'"DELETE"')


def mounts(_service: None, context: MountContext) -> Sequence[Mount]:
    assert callable(context.record)

    @described(
        Operation(
            "Mix colours.",
            "paint",
            [Parameter("_gloss", "How shiny.", "integer")],
            body=Paint,
            answer=Colour,
            status=201,
        )
    )
    async def mix(_request: Request) -> Response:
        return JSONResponse({"name": "brown"}, status_code=201)

    routes = [
        Route("/paint/{shelf:int}", mix, methods=["POST"]),
        Route("/old/paint/{shelf:int}", mix, methods=["POST"], include_in_schema=False),
    ]
    return [Mount("/echo/mcp", endpoint=Echo(), any_origin=True), Mount(routes=routes)]


@asynccontextmanager
async def open_echo(_platform: Platform) -> AsyncGenerator[None]:
    yield None


ROOM: Room[None] = Room(
    name="echo",
    title="Echo",
    instructions="",
    open=open_echo,
    mounts=mounts,
)
