"""The history over REST, read-only: who changed what, earlier states, and verification of the chain."""

from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.interface.rest.models import Open
from pentad.rooms.registers.interface.rest.objects import ITEM
from pentad.rooms.registers.interface.rest.request import MOST_VERSIONS, RestRequest
from pentad.rooms.registers.interface.rest.responses import json_response
from pentad.rooms.registers.interface.rest.route_group import PAGING, RouteGroup
from pentad.rooms.registers.objects.change_log import Change

_CURSOR: Final = Parameter("_cursor", "The cursor of the last answer.")
_FEED: Final = (
    PAGING[0],
    _CURSOR,
    Parameter("register", "Only changes in this register."),
    Parameter("schema", "Only changes to objects of this schema."),
    Parameter("plan", "Only what this plan or import changed, by its id."),
)
_BEFORE: Final = Parameter("_before", "Only changes with a smaller id.", "integer", minimum=0, maximum=MOST_VERSIONS)
_WINDOW: Final = (PAGING[0], _BEFORE)
ROUTES: Final = RouteGroup("audit")


class ChangedValue(BaseModel):
    """The value before and after a change; null if there was none. Long values are shortened."""

    old: Any
    new: Any


class ChangeAnswer(Open):
    """One change of an object."""

    id: int
    cursor: str | None = None
    uuid: str
    object: str
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    version: int
    action: str
    at: str
    created: str
    user: str
    principal: str
    agent: str | None = None
    session: str | None = None
    call: str | None = None
    reason: str | None = None
    plan: str | None = None
    changed: dict[str, ChangedValue | str] | None = Field(
        None, description="The values that changed, by path. If there are many, `...` says how many were left out."
    )
    hash: str | None = Field(None, description="The link of the hash chain; GET .../audit-trails/verify checks it.")


class FeedAnswer(BaseModel):
    """Changes in the order they happened."""

    results: list[ChangeAnswer]
    cursor: str = Field(description="Send it as _cursor to continue from here, now or later.")


class HistoryAnswer(BaseModel):
    """The changes of one object, newest first."""

    results: list[ChangeAnswer]
    total: int
    limit: int


class DifferenceAnswer(BaseModel):
    """The difference between two versions: a JSON Patch, and sentences."""

    uuid: str
    from_: int = Field(alias="from")
    to: int
    patch: list[dict[str, Any]]
    changes: list[str]


class VerificationAnswer(BaseModel):
    """Whether the chain of an object's changes is intact."""

    uuid: str
    valid: bool
    changes: int
    head: str | None = None
    problems: list[str]


def audit_row(change: Change) -> dict[str, Any]:
    """A change with the field names of OpenRegister besides our own."""
    wire = change.wire()
    return {**wire, "object": change.uuid, "user": change.principal, "created": wire["at"]}


@ROUTES.add("GET", "/audit", _FEED, answer=FeedAnswer, own=True)
@ROUTES.add("GET", "/audit-trails", _FEED, answer=FeedAnswer, exact=True)
async def audit_feed(request: RestRequest) -> Response:
    """Read all changes in the order they happened; continue from a cursor at any time."""
    limit, _ = request.window()
    register, schema = request.text("register"), request.text("schema")
    catalogue = request.registers.catalogue
    changes, cursor = await request.registers.history.feed(
        request.caller,
        request.text("_cursor"),
        register=None if register is None else (await catalogue.registers.get(request.caller, register)).id,
        schema=None if schema is None else (await catalogue.schemas.get(request.caller, schema)).id,
        limit=limit,
        plan=request.text("plan"),
    )
    return json_response({"results": [audit_row(change) for change in changes], "cursor": cursor})


@ROUTES.add("GET", "/audit-trails/{id}", answer=ChangeAnswer)
async def audit_entry(request: RestRequest) -> Response:
    """Get one change by its id. It cannot be changed or deleted."""
    given = request.path("id")
    number = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else 0
    return json_response(audit_row(await request.registers.history.entry(request.caller, number)))


@ROUTES.add("GET", ITEM + "/audit-trails", _WINDOW, answer=HistoryAnswer, exact=True)
@ROUTES.add("GET", ITEM + "/history", _WINDOW, answer=HistoryAnswer, own=True)
async def history(request: RestRequest) -> Response:
    """List the changes of one object, newest first."""
    pair = await request.pair()
    limit, _ = request.window()
    before = request.integer("_before", 0, MOST_VERSIONS) or None
    changes = await request.registers.history.of(request.caller, pair, request.path("id"), limit, before)
    total = await request.registers.history.count(request.caller, pair, request.path("id"))
    return json_response({"results": [audit_row(change) for change in changes], "total": total, "limit": limit})


@ROUTES.add(
    "GET",
    ITEM + "/diff",
    (
        Parameter("from", "The first version.", "integer", required=True, minimum=1, maximum=MOST_VERSIONS),
        Parameter("to", "The other version; by default the current one.", "integer", minimum=0, maximum=MOST_VERSIONS),
    ),
    answer=DifferenceAnswer,
    own=True,
)
async def compare(request: RestRequest) -> Response:
    """Show the difference between two versions of an object as JSON Patch."""
    pair = await request.pair()
    first = request.integer("from", 0, MOST_VERSIONS)
    if not first:
        raise InvalidInput("Say which versions to compare.", hint="Give from=1, and to=3 unless you mean now.")
    second = request.integer("to", 0, MOST_VERSIONS) or None
    return json_response(await request.registers.history.diff(request.caller, pair, request.path("id"), first, second))


@ROUTES.add("GET", ITEM + "/audit-trails/verify", answer=VerificationAnswer)
async def verify(request: RestRequest) -> Response:
    """Verify the chain of an object's changes."""
    pair = await request.pair()
    return json_response((await request.registers.history.verify(request.caller, pair, request.path("id"))).wire())
