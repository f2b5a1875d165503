"""The public keys this server signs records with, past ones included, and their rotation. Reading needs no login."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, described, is_yes, protected_route
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.server_key import published

PATH = "/api/directory/keys"


def key_routes(directory: Directory) -> list[BaseRoute]:
    @described(Operation("The public keys records are signed with, the one in use first.", "directory"))
    async def list_keys(_request: Request) -> Response:
        keys = {"keys": published(await directory.signing_keys.known())}
        return JSONResponse(keys, headers={"cache-control": "public, max-age=300"})

    async def rotate(request: Request, _principal: Principal) -> dict[str, Any]:
        forget = is_yes(request.query_params.get("forget_old"))
        return {"keys": published(await directory.signing_keys.rotate(forget=forget))}

    rotation = Operation(
        "Sign records with a new key from now on.",
        "directory",
        (Parameter("forget_old", "true: stop publishing the replaced keys.", "boolean"),),
    )
    return [
        Route(PATH, list_keys),
        protected_route("POST", f"{PATH}/rotate", "directory:admin", rotation, rotate),
    ]
