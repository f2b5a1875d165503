"""REST: the caller's tasks, a task's trace, delegation to a suitable agent, and the keys that sign cards."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.routing import BaseRoute

from pentad.access.signing_keys import KeyRing, SigningKey
from pentad.kernel.clock import iso
from pentad.kernel.principal import Principal
from pentad.kernel.query_parameters import number_in
from pentad.platform import Operation, Parameter, is_yes, parse_body, protected_route
from pentad.rooms.agents.card_signing import key_id
from pentad.rooms.agents.delegation import delegate
from pentad.rooms.agents.interface.presentation import TaskView, delegation_view, list_tasks, trace_json
from pentad.rooms.agents.interface.tools import DelegateArguments, task_request
from pentad.rooms.agents.keys import open_card_ring
from pentad.rooms.agents.service import Agents

_DELEGATE: Final = "/api/agents/delegate"
_KEYS: Final = "/api/agents/keys"
_TASKS: Final = "/api/agents/tasks"
_DEFAULT_TASKS: Final = 20
_MAX_TASKS: Final = 100


def task_routes(agents: Agents) -> list[BaseRoute]:
    """The routes that `pentad agents tasks`, `delegate` and `keys`, and other programs, call on a server."""

    async def tasks(request: Request, principal: Principal) -> dict[str, Any]:
        query = request.query_params
        limit = number_in(query.get("limit"), "limit", _DEFAULT_TASKS, 1, _MAX_TASKS)
        return {"tasks": await list_tasks(agents, principal, query.get("state") or None, limit)}

    async def trace(request: Request, principal: Principal) -> dict[str, Any]:
        return trace_json(await agents.tasks.trace(principal, request.path_params["task"]))

    async def delegate_work(request: Request, principal: Principal) -> dict[str, Any]:
        work = parse_body(DelegateArguments, await request.body(), 'Send {"work": "...", "dry_run": true}.')
        given = work.send_arguments()
        seconds = given.seconds if given.wait else 0.0
        delegated = await delegate(agents, principal, task_request(given), seconds=seconds)
        return delegation_view(delegated).model_dump(exclude_none=True)

    async def keys(_request: Request, _principal: Principal) -> dict[str, Any]:
        return {"keys": _published(await (await ring()).known())}

    async def rotate(request: Request, _principal: Principal) -> dict[str, Any]:
        forget = is_yes(request.query_params.get("forget_old"))
        return {"keys": _published(await (await ring()).rotate(forget=forget))}

    async def ring() -> KeyRing:
        platform = agents.platform
        return await open_card_ring(platform.database, platform.secret_box, platform.clock)

    filters = (
        Parameter("state", "Only tasks in this state."),
        Parameter("limit", f"How many at most, up to {_MAX_TASKS} (default {_DEFAULT_TASKS}).", "integer"),
    )
    forgetting = (Parameter("forget_old", "true: stop publishing the replaced keys.", "boolean"),)
    listing = Operation("Your tasks, last changed first.", "agents", filters)
    tracing = Operation("A task as a trace: the calls of its agent, and the tasks it sent to others.", "agents")
    work = "Find an agent for a piece of work, send it there and return the task."
    delegating = Operation(work, "agents", body=DelegateArguments, answer=TaskView)
    showing = Operation("The public keys that cards are signed with, the current one first.", "agents")
    rotating = Operation("Sign cards with a new key from now on.", "agents", forgetting)
    return [
        protected_route("GET", _TASKS, "agents:read", listing, tasks),
        protected_route("GET", f"{_TASKS}/{{task}}/trace", "agents:read", tracing, trace),
        protected_route("POST", _DELEGATE, "agents:write", delegating, delegate_work),
        protected_route("GET", _KEYS, "agents:read", showing, keys),
        protected_route("POST", f"{_KEYS}/rotate", "agents:admin", rotating, rotate),
    ]


def _published(keys: Sequence[SigningKey]) -> list[dict[str, Any]]:
    """The public halves of the keys."""
    return [
        {
            "fingerprint": key_id(one.public),
            "publicKey": one.public,
            "created": iso(one.created_at),
            "retired": None if one.retired_at is None else iso(one.retired_at),
        }
        for one in keys
    ]
