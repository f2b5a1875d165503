"""`POST /api/metrics/poll`: collect and record now, for `pentad metrics poll --url`."""

from typing import Any, Final

from starlette.requests import Request
from starlette.routing import BaseRoute

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.platform import Operation, Parameter, protected_route
from pentad.rooms.metrics.service import Metrics

_POLL: Final = Operation(
    "Collect everything of a collector now and record it.",
    "metrics",
    (
        Parameter("collector", "The collector, by id.", required=True),
        Parameter("bg", "The business group: id, name or path."),
    ),
)


def poll_routes(metrics: Metrics) -> list[BaseRoute]:
    async def poll(request: Request, _principal: Principal) -> dict[str, Any]:
        collector = request.query_params.get("collector")
        if not collector:
            raise InvalidInput("collector is missing.", hint="Add ?collector=host.")
        return {"recorded": await metrics.poll(collector, request.query_params.get("bg") or None)}

    return [protected_route("POST", "/api/metrics/poll", "metrics:write", _POLL, poll)]
