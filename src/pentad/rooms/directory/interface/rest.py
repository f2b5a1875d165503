"""REST routes for the public keys that this server signs records with (including former ones) and their rotation, for
the rules of namespaces, and for the states of records. Reading the keys needs no login.
"""

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, described, is_yes, protected_route
from pentad.rooms.directory.models import STATES, State
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.server_key import published

PATH = "/api/directory/keys"
NAMESPACES_PATH = "/api/directory/namespaces"
STATES_PATH = "/api/directory/states"
MOST_STATES = 100


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
            raise InvalidInput("The cursor cannot be read.", hint="Send next_cursor of the page before.")
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
        given = _body(await request.body())
        await directory.states.set(principal, [found.cid], given.state, given.reason)
        return asdict(await directory.states.get(found.cid))

    reference = Parameter("reference", "CID, name, name:version or name@cid; the newest match.", required=True)
    state = Parameter("state", "Only records in this state.", required=True, choices=STATES)
    cursor = Parameter("cursor", "next_cursor of the page before.")
    listing = Operation("The records in a state, the newest first.", "directory", (state, cursor))
    reading = Operation("The state of a record, and every change of it.", "directory", (reference,))
    changing = Operation("Change the state of a record.", "directory", (reference,), body=StateBody)
    return [
        protected_route("GET", STATES_PATH, "directory:read", listing, listed),
        protected_route("GET", f"{STATES_PATH}/record", "directory:read", reading, one),
        protected_route("PUT", f"{STATES_PATH}/record", "directory:write", changing, change),
    ]


def _without_history(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != "history"}


def _body(text: bytes) -> StateBody:
    try:
        return StateBody.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise InvalidInput(f"{where}: {first['msg']}.", hint=f"state is one of {', '.join(STATES)}.") from None


def _flag(request: Request, name: str) -> bool | None:
    value = request.query_params.get(name)
    if value not in (None, "true", "false"):
        raise InvalidInput(f"{name} is true or false.")
    return None if value is None else value == "true"


def _parameter(request: Request, name: str) -> str:
    if (value := request.query_params.get(name)) is None:
        raise InvalidInput(f"The query parameter {name} is missing.")
    return value
