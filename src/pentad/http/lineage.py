"""REST for the lineage of a resource: `GET /api/lineage?uri=...`."""

from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import ANY_ROOM, Principal
from pentad.kernel.provenance import prov_json
from pentad.kernel.query_parameters import number_in
from pentad.mcp.lineage import DEEPEST, DEPTH, MOST_THINGS, THINGS, Lineage
from pentad.mcp.rights import check_right
from pentad.platform import Operation, Parameter, described

PATH: Final = "/api/lineage"


class ThingAnswer(BaseModel, extra="allow"):
    """An entity, an activity or an agent. Further members depend on its type."""

    uri: str
    kind: str
    type: str
    label: str | None = None
    at: str | None = None


class LinkAnswer(BaseModel):
    """A link to the origin of a thing, with a relation of W3C PROV."""

    source: str = Field(alias="from")
    relation: str
    to: str
    at: str | None = None
    role: str | None = None


class LineageAnswer(BaseModel):
    """The lineage of a resource. With `format=prov` it is PROV-JSON instead."""

    uri: str
    things: list[ThingAnswer]
    links: list[LinkAnswer]
    hidden: int = Field(description="How many things are shown without a name, because you may not read them.")
    incomplete: list[str] = Field(description="What is missing, and why.")


_OPERATION: Final = Operation(
    "",
    "lineage",
    (
        Parameter("uri", "The URI of a resource: an object, a task, an artifact, a passage ...", required=True),
        Parameter("depth", "How many steps to go back.", "integer", minimum=1, maximum=DEEPEST),
        Parameter("limit", "How many things to look at.", "integer", minimum=1, maximum=MOST_THINGS),
        Parameter("format", "`links`, or `prov` for W3C PROV-JSON.", choices=("links", "prov")),
    ),
    answer=LineageAnswer | dict[str, Any],
)


def lineage_routes(lineage: Lineage) -> list[BaseRoute]:
    @described(_OPERATION)
    async def show(request: Request) -> Response:
        """What made a resource: tasks, agents, people, sources."""
        caller: Principal = request.scope["state"]["principal"]
        check_right(caller, ANY_ROOM, "read")
        given = request.query_params
        form = given.get("format", "links")
        if form not in ("links", "prov"):
            raise InvalidInput(f"There is no format {form[:40]!r}.", hint="It is links or prov.")
        graph = await lineage.of(
            caller,
            given.get("uri", ""),
            depth=number_in(given.get("depth"), "depth", DEPTH, 1, DEEPEST),
            most=number_in(given.get("limit"), "limit", THINGS, 1, MOST_THINGS),
        )
        body = prov_json(graph) if form == "prov" else graph.as_json()
        return JSONResponse(body, headers={"cache-control": "no-store"})

    return [Route(PATH, show, methods=["GET"])]
