"""A route as data: method, path, what it is for, and what answers it. The real routes, the OpenAPI description and the
discovery documents are all made from this one table, so none can drift from the others.
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
from pentad.rooms.registers.interface.openregister import PREFIXES
from pentad.rooms.registers.interface.rest.answers import refusal
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.service import Registers

Handler = Callable[[Ask], Awaitable[Response]]

PAGING: Final = (
    Parameter("_limit", "How many results at most (default 20).", "integer"),
    Parameter("_offset", "How many to skip.", "integer"),
    Parameter("_page", "Which page, from 1; instead of _offset.", "integer"),
)


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One operation. `public` ones are open to callers without credentials; the service still checks what they see.

    An `exact` one takes no other query parameters than it declares: one it did not look at would have meant something.
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
    """A route that is told from most others by how its path begins, before its pattern is tried."""

    def __init__(self, path: str, endpoint: Any, *, methods: list[str], include_in_schema: bool) -> None:
        super().__init__(path, endpoint, methods=methods, include_in_schema=include_in_schema)
        self._beginning = path.partition("{")[0]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if scope["path"].startswith(self._beginning) else (Match.NONE, {})


def build(registers: Registers, table: Sequence[RestRoute]) -> list[BaseRoute]:
    """The Starlette routes of a table under every prefix; only the first prefix is in the description."""
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
    async def endpoint(request: Request) -> Response:
        ask = Ask(registers, request)
        try:
            if not row.public:
                ask.require_credentials()
            if row.exact:
                _refuse_undeclared(row, request)
            return await row.handler(ask)
        except PentadError as error:
            return refusal(error)

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
