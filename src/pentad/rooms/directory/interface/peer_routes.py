"""Peers over REST. Credentials are accepted but never returned."""

from typing import Any, Final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.routing import BaseRoute

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, protected_route
from pentad.rooms.directory.interface.peer_tools import PeerArguments, PeersView, add_peer, peers_view, remove_peer
from pentad.rooms.directory.service import Directory

PATH: Final = "/api/directory/peers"


def peer_routes(directory: Directory) -> list[BaseRoute]:
    async def read(_request: Request, _principal: Principal) -> dict[str, Any]:
        return (await peers_view(directory)).model_dump(exclude_none=True)

    async def add(request: Request, principal: Principal) -> dict[str, Any]:
        try:
            given = PeerArguments.model_validate_json(await request.body())
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            raise InvalidInput(
                f"The peer cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
                hint='Send {"name": "...", "url": "https://...", "token": "..."}.',
            ) from None
        return (await add_peer(directory, principal, given)).model_dump(exclude_none=True)

    async def remove(request: Request, _principal: Principal) -> dict[str, Any]:
        return (await remove_peer(directory, request.query_params.get("name", ""))).model_dump(exclude_none=True)

    reading = Operation("The directories that this one follows, with their status.", "directory", answer=PeersView)
    adding = Operation("Follow a directory.", "directory", body=PeerArguments, answer=PeersView)
    removal = Operation(
        "Stop following a directory, and remove its copies.", "directory",
        (Parameter("name", "The peer.", required=True),), answer=PeersView,
    )  # fmt: skip
    return [
        protected_route("GET", PATH, "directory:admin", reading, read),
        protected_route("POST", PATH, "directory:admin", adding, add),
        protected_route("DELETE", PATH, "directory:admin", removal, remove),
    ]
