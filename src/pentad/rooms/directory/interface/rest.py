"""REST routes of the directory: signing keys, namespaces, the states of records, the trust policy, and peers.

The public keys, including former ones, can be read without a login. Credentials of peers are accepted but never
returned.
"""

from dataclasses import asdict
from typing import Any, Final

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, described, is_yes, parse_body, protected_route
from pentad.rooms.directory.interface.peer_tools import PeerArguments, PeersView, add_peer, peers_view, remove_peer
from pentad.rooms.directory.interface.trust_tools import (
    EntryArguments,
    PolicyView,
    QuarantinedRecord,
    add_entry,
    policy_view,
    quarantined_records,
    remove_entry,
)
from pentad.rooms.directory.models import STATES, State
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.server_key import published_keys

KEYS_PATH: Final = "/api/directory/keys"
NAMESPACES_PATH: Final = "/api/directory/namespaces"
STATES_PATH: Final = "/api/directory/states"
TRUST_PATH: Final = "/api/directory/trust"
QUARANTINE_PATH: Final = "/api/directory/quarantine"
PEERS_PATH: Final = "/api/directory/peers"
MOST_STATES: Final = 100


def routes(directory: Directory) -> list[BaseRoute]:
    """Every route."""
    return [
        *key_routes(directory),
        *namespace_routes(directory),
        *state_routes(directory),
        *trust_routes(directory),
        *peer_routes(directory),
    ]


def key_routes(directory: Directory) -> list[BaseRoute]:
    @described(Operation("The public keys records are signed with, the one in use first.", "directory"))
    async def list_keys(_request: Request) -> Response:
        keys = {"keys": published_keys(await directory.signing_keys.known())}
        return JSONResponse(keys, headers={"cache-control": "public, max-age=300"})

    async def rotate(request: Request, _principal: Principal) -> dict[str, Any]:
        forget = is_yes(request.query_params.get("forget_old"))
        return {"keys": published_keys(await directory.signing_keys.rotate(forget=forget))}

    rotation = Operation(
        "Sign records with a new key from now on.",
        "directory",
        (Parameter("forget_old", "true: stop publishing the replaced keys.", "boolean"),),
    )
    return [
        Route(KEYS_PATH, list_keys),
        protected_route("POST", f"{KEYS_PATH}/rotate", "directory:admin", rotation, rotate),
    ]


def namespace_routes(directory: Directory) -> list[BaseRoute]:
    """The namespaces with rules. A namespace may be empty or have slashes, so it is a parameter and not in the path."""

    async def listed(_request: Request, _principal: Principal) -> dict[str, Any]:
        return {"namespaces": [asdict(one) for one in await directory.namespaces.all()]}

    async def set_rule(request: Request, principal: Principal) -> dict[str, Any]:
        given = {name: _flag(request, name) for name in ("immutable", "quarantine")}
        if set(given.values()) == {None}:
            raise InvalidInput("immutable or quarantine is missing.", hint="Each is true or false.")
        await directory.namespaces.set(_parameter(request, "namespace"), **given)
        if given["quarantine"] is not None:
            await directory.policy.settle()
        return await listed(request, principal)

    async def remove_rule(request: Request, principal: Principal) -> dict[str, Any]:
        await directory.namespaces.remove(_parameter(request, "namespace"))
        await directory.policy.settle()
        return await listed(request, principal)

    namespace = Parameter("namespace", "The beginning of names, such as example.org; empty for all.", required=True)
    final = Parameter("immutable", "Whether a pushed version is final.", "boolean")
    held = Parameter(
        "quarantine",
        "Whether records that the trust policy does not trust are quarantined.",
        "boolean",
    )
    reading = Operation("The namespaces with rules.", "directory")
    setting = Operation("Set rules of a namespace.", "directory", (namespace, final, held))
    removal = Operation("Remove the rules of a namespace, so that those above it apply.", "directory", (namespace,))
    return [
        protected_route("GET", NAMESPACES_PATH, "directory:read", reading, listed),
        protected_route("PUT", NAMESPACES_PATH, "directory:admin", setting, set_rule),
        protected_route("DELETE", NAMESPACES_PATH, "directory:admin", removal, remove_rule),
    ]


class StateBody(BaseModel):
    """A new state and the reason."""

    state: State
    reason: str = ""


def state_routes(directory: Directory) -> list[BaseRoute]:
    """The states of records. A reference may have slashes, so it is a parameter and not in the path."""

    async def listed(request: Request, _principal: Principal) -> dict[str, Any]:
        directory.require_local()
        state = _parameter(request, "state")
        if state not in STATES:
            raise InvalidInput(f"state is one of {', '.join(STATES)}.")
        below = request.query_params.get("cursor")
        if below is not None and not (below.isascii() and below.isdigit() and len(below) < 19):
            raise InvalidInput("The cursor cannot be read.", hint="Send next_cursor of the previous page.")
        page, after = await directory.states.in_state(state, MOST_STATES, None if below is None else int(below))
        records = [_without_history(asdict(one)) for one in page]
        return {"records": records, **({} if after is None else {"next_cursor": str(after)})}

    async def one(request: Request, _principal: Principal) -> dict[str, Any]:
        directory.require_local()
        found = await directory.naming.find_last_pushed(_parameter(request, "reference"))
        return asdict(await directory.states.get(found.cid))

    async def change(request: Request, principal: Principal) -> dict[str, Any]:
        directory.require_local()
        found = await directory.naming.find_last_pushed(_parameter(request, "reference"))
        given = parse_body(StateBody, await request.body(), f"state is one of {', '.join(STATES)}.")
        await directory.states.set(principal, [found.cid], given.state, given.reason)
        return asdict(await directory.states.get(found.cid))

    reference = Parameter("reference", "CID, name, name:version or name@cid; the newest match.", required=True)
    state = Parameter("state", "Only records in this state.", required=True, choices=STATES)
    cursor = Parameter("cursor", "next_cursor of the previous page.")
    listing = Operation("The records in a state, the newest first.", "directory", (state, cursor))
    reading = Operation("The state of a record, and every change of it.", "directory", (reference,))
    changing = Operation("Change the state of a record.", "directory", (reference,), body=StateBody)
    return [
        protected_route("GET", STATES_PATH, "directory:read", listing, listed),
        protected_route("GET", f"{STATES_PATH}/record", "directory:read", reading, one),
        protected_route("PUT", f"{STATES_PATH}/record", "directory:write", changing, change),
    ]


class QuarantinedRecords(BaseModel):
    """Up to 100 records in quarantine, by CID."""

    records: list[QuarantinedRecord]


def trust_routes(directory: Directory) -> list[BaseRoute]:
    async def read(_request: Request, _principal: Principal) -> dict[str, Any]:
        return _plain(policy_view(await directory.policy.state()))

    async def add(request: Request, principal: Principal) -> dict[str, Any]:
        hint = 'Send {"name": "...", "namespace": "...", "key": "-----BEGIN PUBLIC KEY----- ..."}.'
        given = parse_body(EntryArguments, await request.body(), hint)
        return _plain(await add_entry(directory, principal, given))

    async def remove(request: Request, _principal: Principal) -> dict[str, Any]:
        query = request.query_params
        return _plain(await remove_entry(directory, query.get("name", ""), query.get("namespace", "")))

    async def quarantine(request: Request, _principal: Principal) -> dict[str, Any]:
        found = await quarantined_records(directory, request.query_params.get("after", ""))
        return _plain(QuarantinedRecords(records=found))

    named = (Parameter("name", "The entry.", required=True), Parameter("namespace", "Its namespace; empty for all."))
    reading = Operation("The trust policy.", "directory", answer=PolicyView)
    adding = Operation("Trust a key or an issuer.", "directory", body=EntryArguments, answer=PolicyView)
    removal = Operation("Stop trusting a key or an issuer.", "directory", named, answer=PolicyView)
    held = Operation(
        "Records in quarantine, with the reasons.", "directory", (Parameter("after", "Continue after this CID."),),
        answer=QuarantinedRecords,
    )  # fmt: skip
    return [
        protected_route("GET", TRUST_PATH, "directory:read", reading, read),
        protected_route("POST", TRUST_PATH, "directory:admin", adding, add),
        protected_route("DELETE", TRUST_PATH, "directory:admin", removal, remove),
        protected_route("GET", QUARANTINE_PATH, "directory:admin", held, quarantine),
    ]


def peer_routes(directory: Directory) -> list[BaseRoute]:
    async def read(_request: Request, _principal: Principal) -> dict[str, Any]:
        return _plain(await peers_view(directory))

    async def add(request: Request, principal: Principal) -> dict[str, Any]:
        hint = 'Send {"name": "...", "url": "https://...", "token": "..."}.'
        given = parse_body(PeerArguments, await request.body(), hint)
        return _plain(await add_peer(directory, principal, given))

    async def remove(request: Request, _principal: Principal) -> dict[str, Any]:
        return _plain(await remove_peer(directory, request.query_params.get("name", "")))

    reading = Operation("The directories that this one follows, with their status.", "directory", answer=PeersView)
    adding = Operation("Follow a directory.", "directory", body=PeerArguments, answer=PeersView)
    removal = Operation(
        "Stop following a directory, and remove its copies.", "directory",
        (Parameter("name", "The peer.", required=True),), answer=PeersView,
    )  # fmt: skip
    return [
        protected_route("GET", PEERS_PATH, "directory:admin", reading, read),
        protected_route("POST", PEERS_PATH, "directory:admin", adding, add),
        protected_route("DELETE", PEERS_PATH, "directory:admin", removal, remove),
    ]


def _without_history(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != "history"}


def _plain(view: BaseModel) -> dict[str, Any]:
    return view.model_dump(exclude_none=True)


def _flag(request: Request, name: str) -> bool | None:
    value = request.query_params.get(name)
    if value not in (None, "true", "false"):
        raise InvalidInput(f"{name} is true or false.")
    return None if value is None else value == "true"


def _parameter(request: Request, name: str) -> str:
    if (value := request.query_params.get(name)) is None:
        raise InvalidInput(f"The query parameter {name} is missing.")
    return value
