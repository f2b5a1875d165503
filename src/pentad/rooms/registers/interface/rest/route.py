"""A route as data. The real routes, the OpenAPI description and the discovery documents are all made from one table of
these, so none can drift from the others.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.names import did_you_mean
from pentad.platform import Operation, Parameter, described
from pentad.rooms.registers.access.rules import require_credentials
from pentad.rooms.registers.interface.openregister import PREFIXES
from pentad.rooms.registers.interface.rest.request import RestRequest
from pentad.rooms.registers.interface.rest.responses import error_response
from pentad.rooms.registers.service import Registers

Handler = Callable[[RestRequest], Awaitable[Response]]

PAGING: Final = (
    Parameter("_limit", "How many results at most (default 20).", "integer"),
    Parameter("_offset", "How many to skip.", "integer"),
    Parameter("_page", "Which page, from 1; instead of _offset.", "integer"),
)
CONFIRM: Final = Parameter("_confirm", "The token of the answer that asked for it, to go ahead.")
IF_MATCH: Final = Parameter("If-Match", "The ETag of the version you change; 412 if it is not current.", place="header")
IF_NONE_MATCH: Final = Parameter("If-None-Match", "The ETags you have; 304 if one of them is current.", place="header")


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One operation. `public` ones are open to callers without credentials; the service still checks what they see.

    An `exact` one refuses query parameters it does not declare instead of ignoring them.
    """

    method: str
    path: str
    capability: str
    handler: Handler
    parameters: Sequence[Parameter] = ()
    body: type[BaseModel] | None = None
    answer: type[BaseModel] | None = None
    status: int = 200
    public: bool = False
    exact: bool = False
    uploads: Sequence[str] = ()
    """Media types of bodies besides JSON."""

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.handler) or "").split("\n")[0]


class _Route(Route):
    """Compares the fixed beginning of the path before trying the pattern: there are many routes."""

    def __init__(self, path: str, endpoint: Any, *, methods: list[str], include_in_schema: bool) -> None:
        super().__init__(path, endpoint, methods=methods, include_in_schema=include_in_schema)
        self._prefix = path.partition("{")[0]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if scope["path"].startswith(self._prefix) else (Match.NONE, {})


def build(registers: Registers, table: Sequence[RestRoute]) -> list[BaseRoute]:
    """The Starlette routes of a table under every prefix; OpenAPI describes only the first prefix."""
    return [
        _Route(
            prefix + row.path,
            _endpoint(registers, row),
            methods=[row.method],
            include_in_schema=prefix == PREFIXES[0],
        )
        for prefix in PREFIXES
        for row in table
    ]


def _endpoint(registers: Registers, row: RestRoute) -> Any:
    @described(
        Operation(
            row.summary,
            row.capability,
            tuple(row.parameters),
            body=row.body,
            answer=row.answer,
            status=row.status,
            uploads=row.uploads,
        )
    )
    async def endpoint(http: Request) -> Response:
        request = RestRequest(registers, http)
        try:
            if not row.public:
                require_credentials(request.caller.principal)
            if row.exact:
                _refuse_undeclared(row, http)
            return await row.handler(request)
        except PentadError as error:
            return error_response(error)

    return endpoint


def _refuse_undeclared(row: RestRoute, request: Request) -> None:
    declared = [one.name for one in row.parameters if one.place == "query"]
    for name in request.query_params:
        if name not in declared and f"_{name}" not in declared:
            guess = did_you_mean(name, declared)
            raise InvalidInput(
                f"There is no parameter {name[:80]!r} here.{' ' + guess if guess else ''}",
                hint=f"There is {', '.join(declared)}.",
            )
