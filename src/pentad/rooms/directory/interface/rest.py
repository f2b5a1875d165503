"""The public keys this server signs records with, past ones included, and their rotation; the rules of namespaces.

Reading the keys needs no login.
"""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, described, is_yes, protected_route
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.server_key import published

PATH = "/api/directory/keys"
NAMESPACES_PATH = "/api/directory/namespaces"


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


def namespace_routes(directory: Directory) -> list[BaseRoute]:
    """The namespaces with rules. A namespace may be empty or have slashes, so it is a parameter and not in the path."""

    async def listed(_request: Request, _principal: Principal) -> dict[str, Any]:
        return {"namespaces": [asdict(one) for one in await directory.namespaces.all()]}

    async def set_rule(request: Request, principal: Principal) -> dict[str, Any]:
        immutable = _parameter(request, "immutable")
        if immutable not in ("true", "false"):
            raise InvalidInput("immutable is true or false.")
        await directory.namespaces.set(_parameter(request, "namespace"), immutable=immutable == "true")
        return await listed(request, principal)

    async def remove_rule(request: Request, principal: Principal) -> dict[str, Any]:
        await directory.namespaces.remove(_parameter(request, "namespace"))
        return await listed(request, principal)

    namespace = Parameter("namespace", "The beginning of names, such as example.org; empty for all.", required=True)
    final = Parameter("immutable", "Whether a pushed version is final.", "boolean", required=True)
    reading = Operation("The namespaces with rules.", "directory")
    setting = Operation("Set the rule of a namespace.", "directory", (namespace, final))
    removal = Operation("Remove the rule of a namespace, so that the one above it holds.", "directory", (namespace,))
    return [
        protected_route("GET", NAMESPACES_PATH, "directory:read", reading, listed),
        protected_route("PUT", NAMESPACES_PATH, "directory:admin", setting, set_rule),
        protected_route("DELETE", NAMESPACES_PATH, "directory:admin", removal, remove_rule),
    ]


def _parameter(request: Request, name: str) -> str:
    if (value := request.query_params.get(name)) is None:
        raise InvalidInput(f"The query parameter {name} is missing.")
    return value
