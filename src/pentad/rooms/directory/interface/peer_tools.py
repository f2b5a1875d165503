"""The tool for peers, and the types it shares with the REST routes."""

from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.rooms.directory.federation.peers import PeerCredentials, PeerFilters
from pentad.rooms.directory.service import Directory

_CREDENTIALS: Final = msgspec.structs.fields(PeerCredentials)


class PeerArguments(Arguments):
    """A directory to follow. Credentials: a token, or issuer, client_id and client_secret, or certificate and key."""

    name: str = ""
    url: Annotated[str, Field(description="host:port or https://host:port of its gRPC API.")] = ""
    namespaces: Annotated[list[str], Field(default_factory=list, description="Copy only names in these.")]
    labels: Annotated[list[str], Field(default_factory=list, description="Copy only these, such as /skills/...")]
    token: Annotated[str, Field(description="Pentad key or bearer token.")] = ""
    issuer: Annotated[str, Field(description="OAuth: client credentials.")] = ""
    client_id: str = ""
    client_secret: str = ""
    scopes: str = ""
    audience: str = ""
    certificate: Annotated[str, Field(description="PEM, with private_key.")] = ""
    private_key: str = ""
    ca: Annotated[str, Field(description="PEM of the authority that signed its certificate.")] = ""


class PeersArguments(PeerArguments):
    action: Literal["list", "add", "remove"] = "list"


class PeerView(BaseModel):
    """`status` is starting, in step, failing or removing. `skipped` counts records that could not be copied."""

    name: str
    url: str
    auth: str
    status: str
    records: int
    namespaces: list[str]
    labels: list[str]
    problem: str | None = None
    failing_since: str | None = None
    next_attempt: str | None = None
    in_step_at: str | None = None
    skipped: int | None = None
    skipped_reason: str | None = None
    created_by: str
    created_at: str


class PeersView(BaseModel):
    peers: list[PeerView]


@tool("directory_peers", title="Peers", action="admin", destructive=True, listed="room", open_world=True)
async def peers(arguments: PeersArguments, call: Call[Directory]) -> PeersView:
    """List, add or remove the directories that this one follows: their records and signatures are copied here."""
    directory = call.service
    directory.require_local()
    if arguments.action == "add":
        return await add_peer(directory, call.principal, arguments)
    if arguments.action == "remove":
        return await remove_peer(directory, arguments.name)
    return await peers_view(directory)


async def add_peer(directory: Directory, who: Principal, given: PeerArguments) -> PeersView:
    """Follow a directory."""
    secrets: dict[str, Any] = {one.name: getattr(given, one.name).strip() for one in _CREDENTIALS}
    filters = PeerFilters(tuple(given.namespaces), tuple(label.rstrip("/") for label in given.labels))
    await directory.peers.add(who, given.name, given.url, PeerCredentials(**secrets), filters)
    return await peers_view(directory)


async def remove_peer(directory: Directory, name: str) -> PeersView:
    """Stop following a directory."""
    if not name:
        raise InvalidInput("The name of the peer is missing.")
    await directory.peers.remove(name)
    return await peers_view(directory)


async def peers_view(directory: Directory) -> PeersView:
    return PeersView.model_validate({"peers": [one.as_json() for one in await directory.peers.states()]})


PEER_TOOLS: Final = (peers,)
