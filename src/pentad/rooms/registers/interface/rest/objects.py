"""Single and deleted objects over REST, with ETag, If-Match and Idempotency-Key.

As in OpenRegister, metadata and data share one level: names that start with `_` or `@`, and `id`, `uuid`, `register`
and `schema`, are data only if the schema declares a property with that name.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.interface.rest.models import ObjectAnswer, ObjectPageAnswer, Open, Whole
from pentad.rooms.registers.interface.rest.projection import EXTEND, UNSET, shape, shaping_of
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import etag, json_response, no_content, not_modified, page_body
from pentad.rooms.registers.interface.rest.route_group import IF_MATCH, IF_NONE_MATCH, PAGING, RouteGroup
from pentad.rooms.registers.models import Action, Operation, Pair, StoredObject
from pentad.rooms.registers.objects.history import NothingToUndo
from pentad.rooms.registers.objects.neighbours import Direction
from pentad.rooms.registers.presentation import present_raw, refuse_metadata, with_warnings
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.query.models import AsOf, Query

PAIR: Final = "/objects/{register}/{schema}"
ITEM: Final = PAIR + "/{id}"
_METADATA: Final = frozenset({"id", "uuid", "register", "schema"})
_JSON_PATCH: Final = "application/json-patch+json"
KEY: Final = Parameter(
    "Idempotency-Key",
    "Requests with the same key and body are carried out once and get the same answer.",
    place="header",
)
UPSERT_KEY: Final = Parameter(
    "_key", "The properties that find the object, separated by commas; by default the schema's unique property."
)
_AS_OF: Final = Parameter("_asOf", "A time (ISO 8601, or seconds), or change:<id>: the object as it was.")
_FIELDS: Final = Parameter("_fields", "Only these properties, separated by commas.")
_EMPTY: Final = Parameter("_empty", "true: include empty metadata.", "boolean")
_SHOWN: Final = (_FIELDS, _EMPTY)
_HOW: Final = (*_SHOWN, EXTEND, UNSET, _AS_OF, IF_NONE_MATCH)
_WRITE: Final = (IF_MATCH, KEY)
ROUTES: Final = RouteGroup("objects")


class ObjectData(Open):
    """An object's business properties."""


class DeletabilityAnswer(BaseModel):
    """What deleting an object would do to others."""

    deletable: bool
    blockers: list[dict[str, Any]]
    cascade: list[dict[str, Any]] = Field(alias="cascadeTargets")
    nullify: list[dict[str, Any]] = Field(alias="nullifyTargets")
    default: list[dict[str, Any]] = Field(alias="defaultTargets")


class LockData(BaseModel):
    """Duration and purpose of a lock."""

    duration: Whole = Field(3600, ge=1, le=86_400, description="Seconds until the lock runs out.")
    process: str | None = Field(None, max_length=200)


class RevertData(BaseModel):
    """The earlier state to restore: exactly one of the three."""

    version: Whole | None = None
    datetime: str | None = None
    audit_trail_id: Whole | None = Field(None, alias="auditTrailId")

    model_config = ConfigDict(populate_by_name=True)


class PatchStep(BaseModel):
    """One step of a JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    from_: str | None = Field(None, alias="from")
    value: Any = None


_PATCHES: Final = {"application/merge-patch+json": ObjectData, _JSON_PATCH: list[PatchStep]}


def business(pair: Pair, body: dict[str, Any]) -> dict[str, Any]:
    """The data in a flat body; the same dict if everything in it is data."""
    declared = pair.definition.properties
    if body.keys() <= declared.keys():
        return body
    return {
        name: value
        for name, value in body.items()
        if name in declared or not (name in _METADATA or name.startswith(("_", "@")))
    }


def named_uuid(pair: Pair, body: Mapping[str, Any]) -> str | None:
    """The uuid in a flat body, unless the schema has a property with that name."""
    for name in ("id", "uuid"):
        if name not in pair.definition.properties and (given := body.get(name)) is not None:
            if not isinstance(given, str):
                raise InvalidInput(f"{name} must be a uuid.", hint="Leave it out to get one.")
            return given
    return None


def respond(
    request: RestRequest, pair: Pair, stored: StoredObject, status: int = 200, *, written: bool = False
) -> Response:
    """One object with its ETag; after a write, also warnings and whether anything changed."""
    said = stored.unchanged or stored.warnings or stored.undone
    if written and (said or pair.definition.soft or pair.definition.undeclared(stored.data)):
        access, caller = request.registers.access, request.caller
        wire = with_warnings(access, caller, pair, stored, _wire(request, pair, stored))
    elif not request.names("_fields") and not request.flag("_empty"):
        [wire] = present_raw(request.registers.access, request.caller, pair, [stored])
    else:
        wire = _wire(request, pair, stored)
    return json_response(wire, status, {"etag": etag(stored.version)})


def _wire(request: RestRequest, pair: Pair, stored: StoredObject) -> dict[str, Any]:
    return request.present(pair, stored, fields=request.names("_fields") or None, prune=not request.flag("_empty"))


@ROUTES.add("POST", PAIR, [*_SHOWN, KEY], body=ObjectData, answer=ObjectAnswer, status=201, etag=True)
async def create_object(request: RestRequest) -> Response:
    """Create an object."""
    pair = await request.pair("create")
    body = await request.object()
    stored = await request.registers.objects.create(
        request.caller, pair, business(pair, body), uuid=named_uuid(pair, body), idempotency_key=request.idempotency_key
    )
    return respond(request, pair, stored, 201, written=True)


@ROUTES.add("GET", ITEM, _HOW, answer=ObjectAnswer, etag=True, public=True)
async def get_object(request: RestRequest) -> Response:
    """Get an object by uuid, slug or the value of a unique property."""
    pair = await request.pair()
    moment = request.text("_asOf")
    as_of = parse_as_of(moment, request.registers.now()) if moment else None
    stored = await request.registers.objects.get(request.caller, pair, request.path("id"), as_of=as_of)
    shaping = await shaping_of(request, pair)
    related = await _related_fields(request, pair, as_of)
    fills = request.registers.catalogue.definitions.facts(pair.definition).fills
    depends = shaping.extend or related.related or fills
    # properties filled from other objects change without a new version, so the ETag proves nothing
    if not depends and request.has_version(etag(stored.version)):
        return not_modified(etag(stored.version))
    if not shaping and not related.related:
        return respond(request, pair, stored)
    [wire] = await shape(request, pair, shaping, [_wire(request, pair, stored)], as_of)
    await request.registers.objects.add_related(request.caller, related, [stored], [wire])
    return json_response(wire, 200, {"etag": etag(stored.version)})


async def _related_fields(request: RestRequest, pair: Pair, as_of: AsOf | None) -> Query:
    """The names in `_fields` that follow references."""
    ways = tuple(f"{'.'.join(reference.path)}." for reference in pair.definition.references)
    declared = pair.definition.properties
    names = [name for name in request.names("_fields") if ways and name.startswith(ways) and name not in declared]
    if not names:
        return Query(as_of=as_of)
    raw = {"fields": names, "as_of": request.text("_asOf")}
    return await request.registers.objects.query_of(request.caller, pair, raw, related=True)


@ROUTES.add("PUT", ITEM, [*_SHOWN, *_WRITE], body=ObjectData, answer=ObjectAnswer, etag=True)
async def replace_object(request: RestRequest) -> Response:
    """Replace an object's data."""
    pair = await request.pair("update")
    stored = await _change(request, pair, "update", business(pair, await request.object()))
    return respond(request, pair, stored, written=True)


async def _change(
    request: RestRequest,
    pair: Pair,
    action: Action,
    data: dict[str, Any] | None = None,
    patch: Sequence[dict[str, Any]] = (),
) -> StoredObject:
    """Write the object in the path, if it is at the version in `If-Match`."""
    version = await request.if_match_object(pair)
    operation = Operation(action, data, request.path("id"), if_version=version, patch=tuple(patch))
    return await request.registers.objects.write(request.caller, pair, operation, request.idempotency_key)


@ROUTES.add("POST", ITEM, [*_SHOWN, *_WRITE], body=ObjectData, other_bodies=_PATCHES, answer=ObjectAnswer, etag=True)
@ROUTES.add("PATCH", ITEM, [*_SHOWN, *_WRITE], body=ObjectData, other_bodies=_PATCHES, answer=ObjectAnswer, etag=True)
async def patch_object(request: RestRequest) -> Response:
    """Change some properties: a merge patch, or a JSON Patch with Content-Type application/json-patch+json."""
    pair = await request.pair("update")
    if request.http.headers.get("content-type", "").partition(";")[0].strip().lower() == _JSON_PATCH:
        steps = await request.json()
        if not isinstance(steps, list) or not all(isinstance(one, dict) for one in cast("list[Any]", steps)):
            raise InvalidInput("A JSON Patch is a list of operations.")
        patch = cast("list[dict[str, Any]]", steps)
        refuse_metadata(pair, patch)
        stored = await _change(request, pair, "json_patch", patch=patch)
    else:
        stored = await _change(request, pair, "patch", business(pair, await request.object()))
    return respond(request, pair, stored, written=True)


@ROUTES.add("PUT", PAIR, [*_SHOWN, UPSERT_KEY, KEY], body=ObjectData, answer=ObjectAnswer, etag=True, own=True)
async def upsert_object(request: RestRequest) -> Response:
    """Create an object, or merge the data into the one with the same key."""
    pair = await request.pair("update")
    body = await request.object()
    named = named_uuid(pair, body)
    operation = Operation("upsert", business(pair, body), key=request.names("_key"), uuid=named, named=named)
    stored = await request.registers.objects.write(request.caller, pair, operation, request.idempotency_key)
    return respond(request, pair, stored, written=True)


@ROUTES.add("DELETE", ITEM, _WRITE, status=204)
async def delete_object(request: RestRequest) -> Response:
    """Delete an object; it can be restored until it is purged."""
    pair = await request.pair("delete")
    await _change(request, pair, "delete")
    return no_content()


@ROUTES.add("POST", ITEM + "/lock", body=LockData, body_required=False, answer=ObjectAnswer)
async def lock_object(request: RestRequest) -> Response:
    """Lock an object against changes by others."""
    pair = await request.pair("update")
    given = body_as(LockData, await request.object(optional=True))
    stored = await request.registers.objects.lock(
        request.caller, pair, request.path("id"), seconds=given.duration, process=given.process
    )
    wire = request.present(pair, stored)
    return json_response({**wire, "locked": True} if "locked" not in pair.definition.properties else wire)


@ROUTES.add("POST", ITEM + "/unlock", answer=ObjectAnswer)
async def unlock_object(request: RestRequest) -> Response:
    """Release the lock of an object."""
    pair = await request.pair("update")
    stored = await request.registers.objects.unlock(request.caller, pair, request.path("id"))
    wire = request.present(pair, stored)
    return json_response({**wire, "locked": False} if "locked" not in pair.definition.properties else wire)


@ROUTES.add("GET", ITEM + "/can-delete", answer=DeletabilityAnswer)
async def can_delete_object(request: RestRequest) -> Response:
    """Say what deleting an object would do to others, without doing it."""
    pair = await request.pair("delete")
    return json_response((await request.registers.objects.can_delete(request.caller, pair, request.path("id"))).wire())


@ROUTES.add("GET", ITEM + "/uses", PAGING, answer=ObjectPageAnswer)
async def list_uses(request: RestRequest) -> Response:
    """List the objects that an object refers to."""
    return await _neighbours(request, "uses")


@ROUTES.add("GET", ITEM + "/used", PAGING, answer=ObjectPageAnswer)
async def list_used(request: RestRequest) -> Response:
    """List the objects that refer to an object."""
    return await _neighbours(request, "used")


async def _neighbours(request: RestRequest, direction: Direction) -> Response:
    pair = await request.pair()
    limit, offset = request.window()
    found = await request.registers.objects.neighbours(
        request.caller, pair, request.path("id"), direction, limit, offset
    )
    rows = [request.present(there, stored) for there, stored in found]
    return json_response(page_body(rows, found.total, limit, offset))


@ROUTES.add("POST", ITEM + "/revert", [*_SHOWN, IF_MATCH], body=RevertData, answer=ObjectAnswer, etag=True)
async def revert_object(request: RestRequest) -> Response:
    """Restore an earlier state of an object."""
    pair = await request.pair("update")
    given = body_as(RevertData, await request.object())
    if sum(one is not None for one in (given.version, given.datetime, given.audit_trail_id)) != 1:
        raise InvalidInput("Say where to go back to.", hint="Give one of version, datetime and auditTrailId.")
    stored = await request.registers.history.revert(
        request.caller,
        pair,
        request.path("id"),
        version=given.version,
        at=given.datetime,
        change=given.audit_trail_id,
        if_version=await request.if_match_object(pair),
    )
    return respond(request, pair, stored, written=True)


@ROUTES.add("POST", ITEM + "/undo", [*_SHOWN, IF_MATCH], answer=ObjectAnswer, etag=True, own=True)
async def undo_object(request: RestRequest) -> Response:
    """Take back the last change of an object; a deletion too."""
    pair = await request.pair()
    version = await request.if_match_object(pair)
    try:
        stored = await request.registers.history.undo_last(request.caller, pair, request.path("id"), if_version=version)
    except NothingToUndo as error:
        error.hint = "DELETE deletes it."
        raise
    return respond(request, pair, stored, written=True)


@ROUTES.add("GET", "/deleted", PAGING, answer=ObjectPageAnswer)
async def list_deleted(request: RestRequest) -> Response:
    """List deleted objects that can still be restored."""
    limit, offset = request.window()
    found = await request.registers.objects.deleted(request.caller, limit, offset)
    rows = [request.present(pair, stored) for pair, stored in found.items]
    return json_response(page_body(rows, found.total, limit, offset))


@ROUTES.add("POST", "/deleted/{id}/restore", _SHOWN, answer=ObjectAnswer, etag=True)
async def restore_object(request: RestRequest) -> Response:
    """Restore a deleted object."""
    pair, stored = await request.registers.objects.find_deleted(request.caller, request.path("id"))
    back = await request.registers.objects.restore(request.caller, pair, stored.uuid)
    return respond(request, pair, back, written=True)


@ROUTES.add("DELETE", "/deleted/{id}", status=204)
async def purge_object(request: RestRequest) -> Response:
    """Purge a deleted object and its files."""
    pair, stored = await request.registers.objects.find_deleted(request.caller, request.path("id"))
    await request.registers.objects.purge(request.caller, pair, stored.uuid)
    return no_content()
