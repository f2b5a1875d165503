"""REST: delegate work to whichever agent fits."""

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, protected_route
from pentad.rooms.agents.delegation import delegate
from pentad.rooms.agents.interface.presentation import TaskView, delegation_view
from pentad.rooms.agents.interface.tools import DelegateArguments, task_request
from pentad.rooms.agents.service import Agents

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

PATH: Final = "/api/agents/delegate"


def delegate_routes(agents: Agents) -> "list[BaseRoute]":
    """The route of `agents_delegate`."""

    async def delegate_work(request: "Request", principal: Principal) -> dict[str, Any]:
        try:
            given = DelegateArguments.model_validate_json(await request.body()).sending()
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidInput(
                f"The work cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
                hint='Send {"work": "...", "dry_run": true}.',
            ) from None
        seconds = given.seconds if given.wait else 0.0
        delegated = await delegate(agents, principal, task_request(given), seconds=seconds)
        return delegation_view(delegated).model_dump(exclude_none=True)

    operation = Operation(
        "Find an agent for a piece of work, send it there and return the task.", "agents",
        body=DelegateArguments, answer=TaskView,
    )  # fmt: skip
    return [protected_route("POST", PATH, "agents:write", operation, delegate_work)]
