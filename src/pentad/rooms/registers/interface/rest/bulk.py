"""Many writes at once, and plans: looked at first, then committed, and undone if need be."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from pentad.rooms.registers.interface.rest.answers import answer
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.bodies import body_as
from pentad.rooms.registers.interface.rest.models import (
    BulkData,
    ObjectsData,
    OperationData,
    OutcomesAnswer,
    PlanData,
    UuidsData,
)
from pentad.rooms.registers.interface.rest.objects import KEY, business, named_uuid
from pentad.rooms.registers.interface.rest.table import RestRoute
from pentad.rooms.registers.models import Operation, Pair
from pentad.rooms.registers.presentation import outcomes_wire
from pentad.rooms.registers.sent_back import without_metadata

_PATH: Final = "/bulk/{register}/{schema}"


def _operations(rows: Sequence[OperationData]) -> list[Operation]:
    return [
        Operation(row.action, row.data and without_metadata(row.data), row.id, tuple(row.key), row.if_version)
        for row in rows
    ]


async def _run(ask: Ask, pair: Pair, operations: list[Operation], atomic: bool) -> Response:
    outcomes = await ask.registers.objects.bulk(
        ask.caller, pair, operations, atomic=atomic, idempotency_key=ask.idempotency_key
    )
    return answer(outcomes_wire(outcomes))


async def bulk(ask: Ask) -> Response:
    """Create, update, patch, upsert and delete in one request, all or nothing or row by row."""
    pair = await ask.pair("update")
    given = body_as(BulkData, await ask.object())
    return await _run(ask, pair, _operations(given.operations), given.atomic)


async def save(ask: Ask) -> Response:
    """Save objects: those with an id (or found by key) are updated, the others created."""
    pair = await ask.pair("update")
    given = body_as(ObjectsData, await ask.object())
    return await _run(ask, pair, [_saving(pair, one, given.key) for one in given.objects], given.atomic)


def _saving(pair: Pair, given: dict[str, Any], key: Sequence[str]) -> Operation:
    data = business(pair, given)
    if key:
        return Operation("upsert", data, None, tuple(key))
    named = named_uuid(pair, given)
    return Operation("create" if named is None else "update", data, named)


async def delete(ask: Ask) -> Response:
    """Delete objects by uuid."""
    pair = await ask.pair("delete")
    given = body_as(UuidsData, await ask.object())
    return await _run(ask, pair, [Operation("delete", None, uuid) for uuid in given.uuids], given.atomic)


async def validate(ask: Ask) -> Response:
    """Check objects against the schema without saving them."""
    pair = await ask.pair("create")
    given = body_as(ObjectsData, await ask.object())
    facts = {"user": ask.caller.principal.id, "name": ask.caller.principal.name}
    now = ask.registers.platform.clock.now()
    rows: list[dict[str, Any]] = []
    for index, one in enumerate(given.objects):
        prepared = pair.definition.prepare(business(pair, one), now=now, caller_facts=facts)
        row: dict[str, Any] = {"index": index, "valid": not prepared.problems}
        for name, problems in (("errors", prepared.problems), ("warnings", prepared.warnings)):
            if problems:
                row[name] = [problem.as_json() for problem in problems]
        rows.append(row)
    return answer({"results": rows, "valid": all(row["valid"] for row in rows)})


async def make_plan(ask: Ask) -> Response:
    """Look at a batch of writes: validation, integrity, cascades and differences, nothing done yet."""
    given = body_as(PlanData, await ask.object())
    pair = await ask.registers.catalogue.pair(ask.caller, given.register_, given.schema_, "update")
    return answer((await ask.registers.plans.make(ask.caller, pair, _operations(given.operations))).wire(), 201)


async def get_plan(ask: Ask) -> Response:
    """Get a plan and its preview."""
    return answer((await ask.registers.plans.get(ask.caller, ask.path("id"))).wire())


async def commit_plan(ask: Ask) -> Response:
    """Do what a plan says; refused if anything it looked at has changed."""
    return answer((await ask.registers.plans.commit(ask.caller, ask.path("id"))).wire())


async def undo_plan(ask: Ask) -> Response:
    """Undo a committed plan, exactly."""
    return answer((await ask.registers.plans.undo(ask.caller, ask.path("id"))).wire())


ROUTES: Final = (
    RestRoute("POST", _PATH, "bulk", bulk, [KEY], body=BulkData, answer=OutcomesAnswer),
    RestRoute("POST", _PATH + "/save", "bulk", save, [KEY], body=ObjectsData, answer=OutcomesAnswer),
    RestRoute("POST", _PATH + "/delete", "bulk", delete, [KEY], body=UuidsData, answer=OutcomesAnswer),
    RestRoute("POST", _PATH + "/validate", "bulk", validate, body=ObjectsData),
    RestRoute("POST", "/plans", "bulk", make_plan, body=PlanData, status=201),
    RestRoute("GET", "/plans/{id}", "bulk", get_plan),
    RestRoute("POST", "/plans/{id}/commit", "bulk", commit_plan),
    RestRoute("POST", "/plans/{id}/undo", "bulk", undo_plan),
)
