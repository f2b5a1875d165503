"""The evolution of a schema over REST: patches, plans, history, differences and undo."""

from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.interface.rest.catalogue import report_response, respond, version_of
from pentad.rooms.registers.interface.rest.models import Open, SchemaAnswer, SchemaReportAnswer, Whole, WindowAnswer
from pentad.rooms.registers.interface.rest.request import MOST_VERSIONS, RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response, page_body
from pentad.rooms.registers.interface.rest.route_group import IF_MATCH, PAGING, RouteGroup
from pentad.rooms.registers.models import Caller

_HERE: Final = "/schemas/{id}"
_VERSIONS: Final = (
    Parameter("from", "The older version.", "integer", required=True, minimum=1, maximum=MOST_VERSIONS),
    Parameter("to", "The newer version; by default the current one.", "integer", minimum=0, maximum=MOST_VERSIONS),
)
ROUTES: Final = RouteGroup("schemas")


class SchemaPatchData(BaseModel):
    """Operations on the properties of a schema; stored objects follow."""

    model_config = ConfigDict(extra="forbid")

    operations: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=500,
        description='add, change, rename, drop, reorder: {"op": "rename", "property": "fee", "to": "amount"}.',
    )
    migration: list[dict[str, Any]] | None = Field(None, description="More steps, after those of the operations.")
    confirm: str | None = Field(None, max_length=100, description="The token of an answer that asked for it.")
    reason: str | None = Field(None, max_length=2000, description="Why, for the history.")


class SchemaPlanData(BaseModel):
    """A patch, or the version of a change to take back."""

    model_config = ConfigDict(extra="forbid")

    operations: list[dict[str, Any]] | None = Field(None, min_length=1, max_length=500)
    migration: list[dict[str, Any]] | None = None
    undo: Whole | None = Field(None, ge=1, lt=2**53)


class SchemaUndoData(BaseModel):
    """Which change of a schema to take back; by default the newest."""

    model_config = ConfigDict(extra="forbid")

    version: Whole | None = Field(None, ge=1, lt=2**53)
    confirm: str | None = Field(None, max_length=100)
    reason: str | None = Field(None, max_length=2000)


class SchemaVersionAnswer(Open):
    """One change of a schema: who, when, what."""

    version: int
    action: Literal["create", "update", "patch", "undo", "parent"]
    at: str
    principal: str
    changes: list[str]


class SchemaDiffAnswer(BaseModel):
    """The difference between two versions of a schema."""

    id: int
    from_: int = Field(alias="from")
    to: int
    patch: list[dict[str, Any]]
    changes: list[str]


class SchemaHistoryAnswer(WindowAnswer):
    """A part of the changes of a schema, newest first."""

    results: list[SchemaVersionAnswer]


@ROUTES.add("POST", f"{_HERE}/patch", [IF_MATCH], body=SchemaPatchData, answer=SchemaAnswer, own=True, etag=True)
async def patch_schema(request: RestRequest) -> Response:
    """Add, change, rename, drop or reorder properties; stored objects follow. Answers 409 if `confirm` is needed."""
    given = body_as(SchemaPatchData, await request.object())
    changed = await request.registers.catalogue.schemas.patch(
        _caller(request, given.reason),
        request.path("id"),
        given.operations,
        migration=given.migration,
        **await _options(request, given.confirm),
    )
    return respond(changed, **changed.change_wire())


@ROUTES.add(
    "POST", f"{_HERE}/plan", body=SchemaPlanData, answer=SchemaReportAnswer, own=True, reads=True, errors={409: None}
)
async def plan_schema(request: RestRequest) -> Response:
    """Say what a patch, or taking back a change, would do; change nothing."""
    given = body_as(SchemaPlanData, await request.object())
    catalogue, ref = request.registers.catalogue, request.path("id")
    if (given.operations is None) == (given.undo is None):
        raise InvalidInput("Say what to plan.", hint="Give operations, or undo with the version of a change.")
    if given.operations is None:
        report = await catalogue.schemas.plan_undo(request.caller, ref, given.undo)
        return report_response(report, "POST", "/undo", f"version {given.undo}")
    report = await catalogue.schemas.plan(request.caller, ref, given.operations, migration=given.migration)
    return report_response(report, "POST", "/patch", "the same body")


@ROUTES.add("GET", f"{_HERE}/history", PAGING, answer=SchemaHistoryAnswer, own=True)
async def schema_history(request: RestRequest) -> Response:
    """List the changes of a schema, newest first."""
    limit, offset = request.window()
    page = await request.registers.catalogue.schemas.history(request.caller, request.path("id"), limit, offset)
    return json_response(page_body(page.items, page.total, limit, offset))


@ROUTES.add("GET", f"{_HERE}/diff", _VERSIONS, answer=SchemaDiffAnswer, own=True)
async def compare_schema(request: RestRequest) -> Response:
    """Show the difference between two versions of a schema."""
    first, second = request.integer("from", 0, MOST_VERSIONS), request.integer("to", 0, MOST_VERSIONS)
    if not first:
        raise InvalidInput("from is missing.", hint="Give the number of a version; history lists them.")
    found = await request.registers.catalogue.schemas.diff(request.caller, request.path("id"), first, second or None)
    return json_response(found)


@ROUTES.add(
    "POST",
    f"{_HERE}/undo",
    [IF_MATCH],
    body=SchemaUndoData,
    answer=SchemaAnswer,
    own=True,
    etag=True,
    body_required=False,
)
async def undo_schema(request: RestRequest) -> Response:
    """Take back a change of a schema, by default the newest, with what it did to objects."""
    given = body_as(SchemaUndoData, await request.object(optional=True))
    changed = await request.registers.catalogue.schemas.undo(
        _caller(request, given.reason),
        request.path("id"),
        given.version,
        **await _options(request, given.confirm),
    )
    return respond(changed, **changed.change_wire())


def _caller(request: RestRequest, reason: str | None) -> Caller:
    return replace(request.caller, reason=reason) if reason else request.caller


async def _options(request: RestRequest, confirm: str | None) -> dict[str, Any]:
    version = await request.if_match(version_of(request, request.registers.catalogue.schemas))
    return {"if_version": version, "confirm": confirm}
