"""Routes as data, declared next to their handlers. The Starlette routes, the OpenAPI description and the discovery
documents are all built from them.

    ROUTES = RouteGroup("bulk")

    @ROUTES.add("GET", "/plans/{id}", answer=PlanAnswer, own=True)
    async def get_plan(request: RestRequest) -> Response: ...

A path is either OpenRegister's or Pentad's `own`. OpenRegister's paths return errors in the format its clients know
(`OpenRegisterError`), and ignore undeclared parameters where that is harmless. Own paths return errors like the rest of
the server, and refuse undeclared parameters.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from pentad.kernel.errors import InvalidInput, Misconfigured, PentadError
from pentad.kernel.names import did_you_mean
from pentad.platform import Operation, Parameter, described
from pentad.rooms.registers.access.rules import ROOM, require_credentials
from pentad.rooms.registers.interface.openregister import PREFIXES
from pentad.rooms.registers.interface.rest.models import OpenRegisterError
from pentad.rooms.registers.interface.rest.request import RestRequest
from pentad.rooms.registers.interface.rest.responses import error_response
from pentad.rooms.registers.query.models import LARGEST_LIMIT
from pentad.rooms.registers.query.parser import FURTHEST
from pentad.rooms.registers.service import Registers

Handler = Callable[[RestRequest], Awaitable[Response]]

PAGING: Final = (
    Parameter("_limit", "How many results at most (default 20).", "integer", minimum=0, maximum=LARGEST_LIMIT),
    Parameter("_offset", "How many to skip.", "integer", minimum=0, maximum=FURTHEST),
    Parameter(
        "_page", "Which page; 0 and 1 are the first. Instead of _offset.", "integer", minimum=0, maximum=FURTHEST
    ),
)
CONFIRM: Final = Parameter("_confirm", "The token of the answer that asked for it, to go ahead.")
IF_MATCH: Final = Parameter("If-Match", "The ETag of the version you change; 412 if it is not current.", place="header")
IF_NONE_MATCH: Final = Parameter("If-None-Match", "The ETags you have; 304 if one of them is current.", place="header")
IGNORED: Final = "Pentad-Ignored-Parameters"
"""The response header that names ignored query parameters."""
_SELECTING: Final = frozenset({"filter", "search", "sort", "order", "cursor", "facets", "as_of", "asOf", "ids"})
"""Parameters that select, order or count results: ignoring one would return wrong results."""
_PLAIN_NAMES: Final = frozenset({"limit", "offset", "page"})
"""Parameters that also work without their underscore."""
_READING_ERRORS: Final = (401, 403, 404, 413, 500, 503, 504)
_CHANGING_ERRORS: Final = (*_READING_ERRORS, 409, 412, 423)
_NO_CONTENT: Final = 204
_MOST_IGNORED: Final = 20


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One operation. Every route except those with status 204 declares its `answer` or the files it `produces`.

    `public` routes accept callers without credentials; the service still checks what they may see.
    """

    method: str
    path: str
    capability: str
    handler: Handler
    parameters: Sequence[Parameter] = ()
    body: type[BaseModel] | None = None
    answer: Any = None
    """The type of the answer's JSON: a model, `list[Model]`, `A | B`."""
    status: int = 200
    public: bool = False
    own: bool = False
    """Whether the path is Pentad's own rather than OpenRegister's."""
    exact: bool = False
    """Refuses query parameters it does not declare, as own paths do."""
    reads: bool = False
    """Whether a POST changes nothing, so the read scope suffices."""
    etag: bool = False
    """Whether a successful answer has an ETag."""
    body_required: bool = True
    uploads: Sequence[str] = ()
    """Media types of bodies besides JSON."""
    other_bodies: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further body types, by a media type that ends in `+json`."""
    produces: Sequence[str] = ()
    """Media types of an answer that is a file."""
    errors: Mapping[int, Any] = field(default_factory=dict[int, Any])
    """Further errors, and errors in another format; None for the server's own format."""

    def __post_init__(self) -> None:
        has_body = self.answer is not None or bool(self.produces)
        if has_body is (self.status == _NO_CONTENT):
            raise Misconfigured(
                f"{self.method} {self.path} answers with {self.status} {'and' if has_body else 'but no'} body.",
                hint="Declare answer=<model in models.py> or produces=<media types>, or status=204 and neither.",
            )

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.handler) or "").split("\n")[0]

    @property
    def is_reading(self) -> bool:
        return self.reads or self.method == "GET"

    def operation(self) -> Operation:
        """The route's description for OpenAPI."""
        statuses = (422 if self.own else 400, *(_READING_ERRORS if self.is_reading else _CHANGING_ERRORS))
        shape = None if self.own else OpenRegisterError
        return Operation(
            self.summary,
            self.capability,
            tuple(self.parameters),
            body=self.body,
            answer=self.answer,
            status=self.status,
            uploads=self.uploads,
            other_bodies=self.other_bodies,
            produces=self.produces,
            headers=["ETag"] if self.etag else ["Content-Disposition"] if self.produces else [],
            not_modified=IF_NONE_MATCH in self.parameters,
            errors={**dict.fromkeys(statuses, shape), **self.errors},
            public=self.public,
            scope=f"{ROOM}:{'read' if self.is_reading else 'write'}",
            body_required=self.body_required,
        )

    def undeclared(self, request: Request) -> list[str]:
        """The query parameters of a request that this route does not declare."""
        declared = self.declared
        return [
            name
            for name in request.query_params
            if (plain := name.partition("[")[0]) not in declared
            and not (plain in _PLAIN_NAMES and f"_{plain}" in declared)
        ]

    @property
    def declared(self) -> list[str]:
        return [one.name for one in self.parameters if one.place == "query"]

    @property
    def takes_filters(self) -> bool:
        """Whether undeclared parameters are filters; if so, the query checks their names."""
        return "field" in self.declared


class RouteGroup(list[RestRoute]):
    """The routes of one capability, in declaration order."""

    def __init__(self, capability: str) -> None:
        super().__init__()
        self._capability = capability

    def add(
        self, method: str, path: str, parameters: Sequence[Parameter] = (), **options: Any
    ) -> Callable[[Handler], Handler]:
        """Declare the route of a handler; `options` are fields of RestRoute."""

        def declare(handler: Handler) -> Handler:
            self.append(RestRoute(method, path, self._capability, handler, parameters, **options))
            return handler

        return declare


class _Route(Route):
    """Compares the fixed start of the path before trying the pattern, because there are many routes."""

    def __init__(
        self, path: str, endpoint: Any, *, method: str, include_in_schema: bool, fixed: frozenset[str]
    ) -> None:
        super().__init__(path, endpoint, methods=[method], include_in_schema=include_in_schema)
        self._prefix = path.partition("{")[0]
        self._others = frozenset(one for one in fixed if one != path and self.path_regex.match(one))
        """Fixed paths that also match this pattern. Other routes handle them, whatever the method."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        if not path.startswith(self._prefix) or path in self._others:
            return Match.NONE, {}
        return super().matches(scope)


def build(registers: Registers, table: Sequence[RestRoute]) -> list[BaseRoute]:
    """The Starlette routes of a table, under every prefix; OpenAPI describes only the first prefix."""
    return [
        _Route(
            prefix + row.path,
            _endpoint(registers, row),
            method=row.method,
            include_in_schema=prefix == PREFIXES[0],
            fixed=frozenset(prefix + one.path for one in table if "{" not in one.path),
        )
        for prefix in PREFIXES
        for row in table
    ]


def _endpoint(registers: Registers, row: RestRoute) -> Any:
    async def answer(request: RestRequest) -> Response:
        if not row.public:
            require_credentials(request.caller.principal)
        ignored = _check_parameters(row, request)
        response = await row.handler(request)
        if ignored:
            response.headers[IGNORED] = ", ".join(ignored)
        return response

    @described(row.operation())
    async def endpoint(http: Request) -> Response:
        request = RestRequest(registers, http)
        try:
            return await answer(request)
        except PentadError as error:
            _word_hint(error, row.method)
            if not row.own:
                return error_response(error)
            raise

    return endpoint


def _word_hint(error: PentadError, method: str) -> None:
    """Word an error's next step for REST, if the error has it as data."""
    if (token := error.details.get("confirm")) is not None:
        where = f"?_confirm={token}" if method == "DELETE" else f'"confirm": "{token}" in its body'
        error.hint = f"To go ahead, repeat the request with {where}."
    elif (step := error.details.pop("next_step", None)) is not None:
        kind = step["operation"].partition(".")[0]
        place = {"register": "{register}", "schema": "{schema}", **step["arguments"]}
        path = f"objects/{place['register']}/{place['schema']}" if kind == "objects" else kind
        error.hint = f"GET /api/{path} lists those you have access to."


def _check_parameters(row: RestRoute, request: RestRequest) -> list[str]:
    """Before anything is done, refuse undeclared parameters, and flags that are neither true nor false.

    Returns the parameters that may be ignored.
    """
    if not request.http.scope["query_string"]:
        return []
    for one in row.parameters:
        if one.type == "boolean":
            request.flag(one.name)
    if row.takes_filters:
        return []
    undeclared = row.undeclared(request.http)
    lists = PAGING[0] in row.parameters
    for name in undeclared:
        plain = name.partition("[")[0]
        is_selecting = plain.removeprefix("_") in _SELECTING or (lists and not plain.startswith("_"))
        if row.own or row.exact or is_selecting:
            guess = did_you_mean(name, row.declared)
            raise InvalidInput(
                f"There is no parameter {name[:80]!r} here.{' ' + guess if guess else ''}",
                hint=f"There is {', '.join(row.declared)}." if row.declared else "Leave it out: there is none.",
            )
    return [quote(name[:80], safe="[]@") for name in undeclared[:_MOST_IGNORED]]
