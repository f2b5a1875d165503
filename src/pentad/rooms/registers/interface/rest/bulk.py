"""Bulk writes over REST, and plans: previewed, then committed, and undone if necessary."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool
from starlette.responses import Response

from pentad.rooms.registers.interface.rest.models import AsGiven, Name, Whole
from pentad.rooms.registers.interface.rest.objects import KEY, business, named_uuid
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response
from pentad.rooms.registers.interface.rest.route_group import RouteGroup
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.objects.plans import MOST_OPERATIONS as MOST_PLANNED
from pentad.rooms.registers.objects.service import MOST_OPERATIONS
from pentad.rooms.registers.presentation import operation_of, present_outcomes
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.store import as_uuid

_PATH: Final = "/bulk/{register}/{schema}"
ROUTES: Final = RouteGroup("bulk")


class OperationData(BaseModel):
    """One row of a bulk write."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["create", "update", "patch", "upsert", "delete"] = "create"
    id: str | None = None
    data: AsGiven | None = None
    key: list[str] = Field(default_factory=list[str], description="The properties an upsert looks the object up by.")
    if_version: Whole | None = None


class BulkData(BaseModel):
    """Rows to write, all or nothing or row by row."""

    operations: list[OperationData] = Field(min_length=1, max_length=MOST_OPERATIONS)
    atomic: StrictBool = True


class ObjectsData(BaseModel):
    """Objects to save. One with an existing `id` is replaced, one found by `key` merged, any other created."""

    objects: list[AsGiven] = Field(min_length=1, max_length=MOST_OPERATIONS)
    key: list[str] = Field(default_factory=list[str])
    atomic: StrictBool = True


class UuidsData(BaseModel):
    """Objects by uuid."""

    uuids: list[str] = Field(min_length=1, max_length=MOST_OPERATIONS)
    atomic: StrictBool = True


class RestoreData(BaseModel):
    """Deleted objects to restore."""

    filter: dict[str, Any] = Field(description="Which of them; an empty filter means all.")


class PurgeData(BaseModel):
    """Deleted objects to purge, and the token that agrees to it."""

    filter: dict[str, Any] | None = Field(default=None, description="Which of them; all without one.")
    confirm: str | None = Field(default=None, max_length=100)


class PurgedAnswer(BaseModel):
    """How many objects were purged."""

    purged: int


class OutcomeAnswer(BaseModel):
    """The result of one row."""

    index: int
    status: Literal["created", "updated", "unchanged", "deleted", "restored", "failed"]
    id: str | None = None
    version: int | None = None
    error: dict[str, Any] | None = None
    warnings: list[dict[str, Any]] | None = None


class OutcomesAnswer(BaseModel):
    """The result of each row."""

    results: list[OutcomeAnswer]
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    restored: int = 0
    failed: int = 0
    warnings: list[dict[str, Any]] | None = Field(
        None, description="What was stored although it is not declared or does not fit, with the number of rows."
    )


class ValidityAnswer(BaseModel):
    """Whether one object fits the schema."""

    index: int
    valid: bool
    errors: list[dict[str, Any]] | None = None
    warnings: list[dict[str, Any]] | None = None


class ValiditiesAnswer(BaseModel):
    """Whether objects fit the schema."""

    results: list[ValidityAnswer]
    valid: bool


class PlanAnswer(BaseModel):
    """A plan: its preview until it is committed, then the result of each row."""

    id: str
    state: str
    valid: bool
    preview: list[dict[str, Any]] | None = None
    outcomes: list[dict[str, Any]] | None = None
    undone: dict[str, Any] | None = Field(None, description="After an undo: what happened to which objects.")
    created: str
    updated: str


class PlanData(BaseModel):
    """Rows to preview before they are written: operations, or one change of all objects that a filter finds."""

    register_: Name = Field(alias="register")
    schema_: Name = Field(alias="schema")
    operations: list[OperationData] | None = Field(None, min_length=1, json_schema_extra={"maxItems": MOST_PLANNED})
    filter: dict[str, Any] | None = None
    data: AsGiven | None = Field(None, description="With `filter`: what to merge into each object.")

    model_config = ConfigDict(populate_by_name=True)


def _operations(pair: Pair, rows: Sequence[OperationData]) -> list[Operation]:
    return [
        operation_of(pair, row.action, row.data, row.id, key=tuple(row.key), if_version=row.if_version) for row in rows
    ]


async def _run(request: RestRequest, pair: Pair, operations: list[Operation], atomic: bool) -> Response:
    outcomes = await request.registers.objects.bulk(
        request.caller, pair, operations, atomic=atomic, idempotency_key=request.idempotency_key
    )
    return json_response(present_outcomes(request.registers.access, request.caller, pair, outcomes))


@ROUTES.add("POST", _PATH, [KEY], body=BulkData, answer=OutcomesAnswer, own=True)
async def bulk(request: RestRequest) -> Response:
    """Create, update, patch, upsert and delete in one request, all or nothing or row by row."""
    pair = await request.pair("update")
    given = body_as(BulkData, await request.object())
    return await _run(request, pair, _operations(pair, given.operations), given.atomic)


@ROUTES.add("POST", _PATH + "/save", [KEY], body=ObjectsData, answer=OutcomesAnswer)
async def save(request: RestRequest) -> Response:
    """Save objects: replace those with an existing id, merge into those found by key, create the others."""
    pair = await request.pair("update")
    given = body_as(ObjectsData, await request.object())
    return await _run(request, pair, [_saving(pair, one, given.key) for one in given.objects], given.atomic)


def _saving(pair: Pair, given: dict[str, Any], key: Sequence[str]) -> Operation:
    data, named = business(pair, given), named_uuid(pair, given)
    if named is not None and not key and as_uuid(named) is None:
        return Operation("update", data, named)  # a slug or a unique value, which cannot be the id of a new object
    action = "upsert" if key else "create" if named is None else "save"
    return Operation(action, data, key=tuple(key), uuid=named, named=named)


@ROUTES.add("POST", _PATH + "/delete", [KEY], body=UuidsData, answer=OutcomesAnswer)
async def delete(request: RestRequest) -> Response:
    """Delete objects by uuid."""
    pair = await request.pair("delete")
    given = body_as(UuidsData, await request.object())
    return await _run(request, pair, [Operation("delete", None, uuid) for uuid in given.uuids], given.atomic)


@ROUTES.add("POST", _PATH + "/purge", body=PurgeData, body_required=False, answer=PurgedAnswer, own=True)
async def purge(request: RestRequest) -> Response:
    """Purge deleted objects by a filter, or all of them. Without `confirm` it says how many, and gives the token."""
    pair = await request.pair("delete")
    given = body_as(PurgeData, await request.object(optional=True))
    query = await _deleted(request, pair, given.filter)
    return json_response(
        {"purged": await request.registers.objects.purge_all(request.caller, pair, query, given.confirm)}
    )


@ROUTES.add("POST", _PATH + "/restore", body=RestoreData, answer=OutcomesAnswer, own=True)
async def restore(request: RestRequest) -> Response:
    """Restore the deleted objects that a filter finds; an empty filter finds all."""
    pair = await request.pair("delete")
    query = await _deleted(request, pair, body_as(RestoreData, await request.object(optional=True)).filter)
    outcomes = await request.registers.objects.restore_all(request.caller, pair, query)
    return json_response(present_outcomes(request.registers.access, request.caller, pair, outcomes))


async def _deleted(request: RestRequest, pair: Pair, chosen: dict[str, Any] | None) -> Query:
    return await request.registers.objects.query_of(request.caller, pair, {"filter": chosen, "deleted": "only"})


@ROUTES.add("POST", _PATH + "/validate", body=ObjectsData, answer=ValiditiesAnswer)
async def validate(request: RestRequest) -> Response:
    """Check objects against the schema without saving them."""
    pair = await request.pair("create")
    given = body_as(ObjectsData, await request.object())
    facts = {"user": request.caller.principal.id, "name": request.caller.principal.name}
    now = request.registers.platform.clock.now()
    rows: list[dict[str, Any]] = []
    for index, one in enumerate(given.objects):
        prepared = pair.definition.prepare(business(pair, one), now=now, caller_facts=facts)
        row: dict[str, Any] = {"index": index, "valid": not prepared.problems}
        for name, problems in (("errors", prepared.problems), ("warnings", prepared.warnings)):
            if problems:
                row[name] = [problem.as_json() for problem in problems]
        rows.append(row)
    return json_response({"results": rows, "valid": all(row["valid"] for row in rows)})


@ROUTES.add("POST", "/plans", body=PlanData, answer=PlanAnswer, status=201, own=True)
async def make_plan(request: RestRequest) -> Response:
    """Preview a batch of writes: validation, integrity, cascades and differences. Writes nothing."""
    given = body_as(PlanData, await request.object())
    pair = await request.registers.catalogue.pair(request.caller, given.register_, given.schema_, "update")
    rows = None if given.operations is None else _operations(pair, given.operations)
    plan = await request.registers.plans.make(request.caller, pair, rows, chosen=given.filter, data=given.data)
    return json_response(plan.wire(), 201)


@ROUTES.add("GET", "/plans/{id}", answer=PlanAnswer, own=True)
async def get_plan(request: RestRequest) -> Response:
    """Get a plan and its preview."""
    return json_response((await request.registers.plans.get(request.caller, request.path("id"))).wire())


@ROUTES.add("POST", "/plans/{id}/commit", answer=PlanAnswer, own=True)
async def commit_plan(request: RestRequest) -> Response:
    """Commit a plan; refused if anything it depends on has changed."""
    return json_response((await request.registers.plans.commit(request.caller, request.path("id"))).wire())


@ROUTES.add("POST", "/plans/{id}/undo", answer=PlanAnswer, own=True)
async def undo_plan(request: RestRequest) -> Response:
    """Undo a committed plan, exactly."""
    return json_response((await request.registers.plans.undo(request.caller, request.path("id"))).wire())
