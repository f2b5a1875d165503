"""Single objects over REST, with ETag, If-Match and Idempotency-Key.

On these routes metadata and data share one level, as in the original: names that begin with `_` or `@`, and `id`,
`uuid`, `register` and `schema`, are not data, unless the schema declares a property of that name.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from starlette.responses import Response

from pentad.kernel.errors import InvalidInput
from pentad.platform import Parameter
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.rest.answers import answer, nothing, unchanged
from pentad.rooms.registers.rest.ask import Ask
from pentad.rooms.registers.rest.bodies import body_as
from pentad.rooms.registers.rest.models import LockData, ObjectAnswer, ObjectData, RevertData
from pentad.rooms.registers.rest.pages import etag
from pentad.rooms.registers.rest.registers import IF_MATCH, IF_NONE_MATCH
from pentad.rooms.registers.rest.shaping import EXTEND, UNSET, shaped, shaping_of
from pentad.rooms.registers.rest.table import RestRoute
from pentad.rooms.registers.sent_back import refuse_metadata
from pentad.rooms.registers.showing import shown, shown_json

PAIR: Final = "/objects/{register}/{schema}"
ITEM: Final = PAIR + "/{id}"
_METADATA: Final = frozenset({"id", "uuid", "register", "schema"})
_JSON_PATCH: Final = "application/json-patch+json"
KEY: Final = Parameter("Idempotency-Key", "The same key and body get the same answer, done once.", place="header")
_AS_OF: Final = Parameter("_asOf", "A time (ISO 8601, or seconds), or change:<id>: the object as it was.")
_FIELDS: Final = Parameter("_fields", "Only these properties, separated by commas.")
_EMPTY: Final = Parameter("_empty", "true: with all metadata, also what is empty.", "boolean")
_HOW: Final = (_FIELDS, EXTEND, UNSET, _AS_OF, _EMPTY, IF_NONE_MATCH)


def business(pair: Pair, body: dict[str, Any]) -> dict[str, Any]:
    """The data in a flat body; the very same dict where all of it is data."""
    declared = pair.definition.properties
    if body.keys() <= declared.keys():
        return body
    return {
        name: value
        for name, value in body.items()
        if name in declared or not (name in _METADATA or name.startswith(("_", "@")))
    }


def named_uuid(pair: Pair, body: Mapping[str, Any]) -> str | None:
    """The uuid a flat body names, where that is not a property of the data itself."""
    for name in ("id", "uuid"):
        if name not in pair.definition.properties and (given := body.get(name)) is not None:
            if not isinstance(given, str):
                raise InvalidInput(f"{name} must be a uuid.", hint="Leave it out to be given one.")
            return given
    return None


def show(ask: Ask, pair: Pair, stored: StoredObject, status: int = 200) -> Response:
    """One object with its ETag."""
    if ask.text("_fields") is None and not ask.flag("_empty"):
        [wire] = shown_json(ask.registers.access, ask.caller, pair, [stored])
    else:
        wire = _wire(ask, pair, stored)
    return answer(wire, status, {"etag": etag(stored.version)})


def _wire(ask: Ask, pair: Pair, stored: StoredObject) -> dict[str, Any]:
    fields = ask.text("_fields")
    names = None if fields is None else [name.strip() for name in fields.split(",")]
    return shown(ask.registers.access, ask.caller, pair, stored, fields=names, prune=not ask.flag("_empty"))


async def create_object(ask: Ask) -> Response:
    """Create an object."""
    pair = await ask.pair("create")
    body = await ask.object()
    stored = await ask.registers.objects.create(
        ask.caller, pair, business(pair, body), uuid=named_uuid(pair, body), idempotency_key=ask.idempotency_key
    )
    return show(ask, pair, stored, 201)


async def get_object(ask: Ask) -> Response:
    """Get an object by uuid or slug."""
    pair = await ask.pair()
    moment = ask.text("_asOf")
    as_of = parse_as_of(moment) if moment else None
    stored = await ask.registers.objects.get(ask.caller, pair, ask.path("id"), as_of=as_of)
    shaping = await shaping_of(ask, pair)
    depends = shaping.extend or ask.registers.catalogue.definitions.facts(pair.definition).fills
    if not depends and ask.is_known(etag(stored.version)):  # what others say in it changes without its version
        return unchanged(etag(stored.version))
    if not shaping:
        return show(ask, pair, stored)
    [wire] = await shaped(ask, pair, shaping, [_wire(ask, pair, stored)], as_of)
    return answer(wire, 200, {"etag": etag(stored.version)})


async def replace_object(ask: Ask) -> Response:
    """Replace an object's data."""
    pair = await ask.pair("update")
    stored = await ask.registers.objects.replace(
        ask.caller,
        pair,
        ask.path("id"),
        business(pair, await ask.object()),
        if_version=await ask.matched_version(pair),
        idempotency_key=ask.idempotency_key,
    )
    return show(ask, pair, stored)


async def patch_object(ask: Ask) -> Response:
    """Change some properties: a merge patch, or a JSON Patch with Content-Type application/json-patch+json."""
    pair = await ask.pair("update")
    objects, ref, version = ask.registers.objects, ask.path("id"), await ask.matched_version(pair)
    if ask.request.headers.get("content-type", "").partition(";")[0].strip().lower() == _JSON_PATCH:
        steps = await ask.json()
        if not isinstance(steps, list) or not all(isinstance(one, dict) for one in cast("list[Any]", steps)):
            raise InvalidInput("A JSON Patch is a list of operations.")
        refuse_metadata(cast("list[dict[str, Any]]", steps))
        stored = await objects.json_patch(
            ask.caller,
            pair,
            ref,
            cast("list[dict[str, Any]]", steps),
            if_version=version,
            idempotency_key=ask.idempotency_key,
        )
    else:
        data = business(pair, await ask.object())
        stored = await objects.merge_patch(
            ask.caller, pair, ref, data, if_version=version, idempotency_key=ask.idempotency_key
        )
    return show(ask, pair, stored)


async def delete_object(ask: Ask) -> Response:
    """Delete an object; it can be restored until it is purged."""
    pair = await ask.pair("delete")
    await ask.registers.objects.delete(
        ask.caller,
        pair,
        ask.path("id"),
        if_version=await ask.matched_version(pair),
        idempotency_key=ask.idempotency_key,
    )
    return nothing()


async def lock_object(ask: Ask) -> Response:
    """Lock an object against changes by others."""
    pair = await ask.pair("update")
    wanted = body_as(LockData, await ask.object(optional=True))
    stored = await ask.registers.objects.lock(
        ask.caller, pair, ask.path("id"), seconds=wanted.duration, process=wanted.process
    )
    wire = shown(ask.registers.access, ask.caller, pair, stored)
    return answer({**wire, "locked": True} if "locked" not in pair.definition.properties else wire)


async def unlock_object(ask: Ask) -> Response:
    """Release the lock of an object."""
    pair = await ask.pair("update")
    stored = await ask.registers.objects.unlock(ask.caller, pair, ask.path("id"))
    wire = shown(ask.registers.access, ask.caller, pair, stored)
    return answer({**wire, "locked": False} if "locked" not in pair.definition.properties else wire)


async def can_delete_object(ask: Ask) -> Response:
    """Say what deleting an object would do to others, without doing it."""
    pair = await ask.pair("delete")
    return answer((await ask.registers.objects.can_delete(ask.caller, pair, ask.path("id"))).wire())


async def revert_object(ask: Ask) -> Response:
    """Bring an object back to an earlier state, exactly."""
    pair = await ask.pair("update")
    wanted = body_as(RevertData, await ask.object())
    given = [one for one in (wanted.version, wanted.datetime, wanted.audit_trail_id) if one is not None]
    if len(given) != 1:
        raise InvalidInput("Say where to go back to.", hint="Give one of version, datetime and auditTrailId.")
    stored = await ask.registers.history.revert(
        ask.caller,
        pair,
        ask.path("id"),
        version=wanted.version,
        at=wanted.datetime,
        change=wanted.audit_trail_id,
        if_version=await ask.matched_version(pair),
    )
    return show(ask, pair, stored)


ITEM_ROUTES: Final = (
    RestRoute("POST", PAIR, "objects", create_object, [KEY], body=ObjectData, answer=ObjectAnswer, status=201),
    RestRoute("GET", ITEM, "objects", get_object, _HOW, answer=ObjectAnswer, public=True),
    RestRoute("PUT", ITEM, "objects", replace_object, [IF_MATCH, KEY], body=ObjectData, answer=ObjectAnswer),
    RestRoute("PATCH", ITEM, "objects", patch_object, [IF_MATCH, KEY], body=ObjectData, answer=ObjectAnswer),
    RestRoute("POST", ITEM, "objects", patch_object, [IF_MATCH, KEY], body=ObjectData, answer=ObjectAnswer),
    RestRoute("DELETE", ITEM, "objects", delete_object, [IF_MATCH, KEY], status=204),
    RestRoute("POST", ITEM + "/lock", "objects", lock_object, body=LockData, answer=ObjectAnswer),
    RestRoute("POST", ITEM + "/unlock", "objects", unlock_object, answer=ObjectAnswer),
    RestRoute("GET", ITEM + "/can-delete", "objects", can_delete_object),
    RestRoute("POST", ITEM + "/revert", "objects", revert_object, [IF_MATCH], body=RevertData, answer=ObjectAnswer),
)
