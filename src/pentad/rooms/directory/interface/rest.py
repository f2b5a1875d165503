"""`GET /api/directory/keys`: the public keys this server signs records with, past ones included. Needs no login."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.platform import Operation, described
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.server_key import published

PATH = "/api/directory/keys"


def key_routes(directory: Directory) -> list[BaseRoute]:
    @described(Operation("The public keys records are signed with, the one in use first.", "directory"))
    async def list_keys(_request: Request) -> Response:
        keys = {"keys": published(await directory.signing_keys.known())}
        return JSONResponse(keys, headers={"cache-control": "public, max-age=300"})

    return [Route(PATH, list_keys)]
