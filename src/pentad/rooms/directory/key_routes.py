"""`GET /api/directory/keys`: the public keys this server signs and has signed records with, for anybody."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.platform import Operation, described
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.server_key import published

PATH = "/api/directory/keys"


def key_routes(directory: Directory) -> list[BaseRoute]:
    @described(Operation("The public keys records are signed with, the one in use first.", "directory"))
    async def keys(_request: Request) -> Response:
        told = {"keys": published(await directory.signing_keys.known())}
        return JSONResponse(told, headers={"cache-control": "public, max-age=300"})

    return [Route(PATH, keys)]
