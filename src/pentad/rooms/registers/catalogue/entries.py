"""Registers and schemas from one caller's point of view: naming, seeing and writing them.

Unknown fields are kept, so nothing a caller stores is lost. The server sets ids, times and owner.

A slug is looked up in the caller's own organisation first, then among public entries. Anything else gets the same
answer as something that does not exist, even if another organisation has that slug, id or uuid.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

import msgspec

from pentad.kernel.counts import counted
from pentad.kernel.errors import Conflict, InvalidInput, NotFound, VersionMismatch
from pentad.kernel.json_patch import merge_patch
from pentad.kernel.json_values import as_list, as_object
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.definitions.object_validation import json_text, validation_error
from pentad.rooms.registers.models import Caller, Page, Register, Schema
from pentad.rooms.registers.not_found import EntityNotFound
from pentad.rooms.registers.store import Kind, Ref, as_uuid, is_slug, next_version, slugified

E = TypeVar("E", Register, Schema)

_SET_BY_SERVER: Final = frozenset({
    "id", "uuid", "created", "updated", "owner", "organisation", "usage", "@self", "warnings", "changes", "migrated",
    "undone",
})  # fmt: skip
_OWN_ATTRIBUTES: Final = frozenset({"title", "version", "slug", "schemas", "detach"})
_FIRST_VERSION: Final = "0.0.1"
_LONGEST_TITLE: Final = 500
_MOST_NAMED: Final = 10
_TYPES: Final[dict[str, tuple[type, str]]] = {
    "description": (str, "a text"),
    "summary": (str, "a text"),
    "slug": (str, "a text"),
    "authorization": (dict, "an object"),
    "configuration": (dict, "an object"),
    "properties": (dict, "an object"),
    "required": (list, "a list"),
    "schemas": (list, "a list of schemas"),
    "detach": (list, "a list of schemas"),
    "groups": (list, "a list"),
    "languages": (list, "a list"),
    "hardValidation": (bool, "true or false"),
    "searchable": (bool, "true or false"),
    "immutable": (bool, "true or false"),
}


class CatalogueView:
    """One caller's view of registers and schemas, within one unit of work."""

    def __init__(self, access: AccessRules, rows: Rows, caller: Caller) -> None:
        self._access = access
        self._rows = rows
        self._caller = caller
        self._own = access.organisation(caller)
        self._schemas: dict[int, Schema | None] = {}

    def register(self, ref: Ref) -> Register:
        """A register with all its schemas; NotFound, with suggestions, if the caller may not see one with that name."""
        for found in self._own_first(store.named_registers(self._rows, ref)):
            if self.sees(found):
                return found
        raise entity_not_found("register", ref, self.registers())

    def schema(self, ref: Ref) -> Schema:
        """A schema; NotFound, with suggestions, if the caller may not see one with that name."""
        for found in self._own_first(store.named_schemas(self._rows, ref)):
            if self._access.sees(self._caller, found):
                return found
        raise entity_not_found("schema", ref, self.schemas())

    def registers(self) -> list[Register]:
        """All registers the caller may see, each with the schemas it may see."""
        if not self._access.is_unrestricted(self._caller):
            self._schemas.update((one.id, one) for one in store.all_schemas(self._rows))
        return [self.with_visible_schemas(one) for one in store.all_registers(self._rows) if self.sees(one)]

    def schemas(self) -> list[Schema]:
        return [one for one in store.all_schemas(self._rows) if self._access.sees(self._caller, one)]

    def with_visible_schemas(self, register: Register) -> Register:
        """A register without the schemas the caller may not see."""
        if self._access.is_unrestricted(self._caller):
            return register
        return replace(register, schemas=tuple(key for key in register.schemas if self.schema_in(register, key)))

    def sees(self, register: Register) -> bool:
        """Whether the caller may see a register, either directly or because of a public schema in it."""
        return self._access.sees(self._caller, register) or any(
            self.schema_in(register, key) is not None for key in register.schemas
        )

    def schema_in(self, register: Register, key: int) -> Schema | None:
        """One of a register's schemas, if the caller may see both."""
        if key not in self._schemas:
            self._schemas[key] = store.find_schema(self._rows, key)
        found = self._schemas[key]
        return found if found is not None and self._access.sees_both(self._caller, register, found) else None

    def _own_first(self, found: Iterable[E]) -> list[E]:
        return sorted(found, key=lambda one: one.organisation != self._own)


def check_fields(kind: Kind, data: Mapping[str, Any]) -> dict[str, Any]:
    """Check that the caller may set these fields and that each has the right type."""
    _, unstorable = json_text(dict(data))
    if unstorable is not None:
        raise validation_error([unstorable], f"The {kind}")
    for name, (type_, words) in _TYPES.items():
        value = data.get(name)
        if value is not None and not isinstance(value, type_):
            raise _wrong(kind, name, f"must be {words}", value)
    title = data.get("title")
    if title is not None and not (isinstance(title, str) and 0 < len(title.strip()) <= _LONGEST_TITLE):
        raise _wrong(kind, "title", f"must be a text of 1 to {_LONGEST_TITLE} characters", title)
    version = data.get("version")
    if version is not None and not (isinstance(version, str) and 0 < len(version) <= 100):
        raise _wrong(kind, "version", "must be a text like 1.2.3", version)
    slug = data.get("slug")
    if slug and not is_slug(slug):
        raise InvalidInput(
            f"{slug[:80]!r} cannot be the slug of a {kind}.",
            hint=f"Use a-z, digits, '.', '_' and '-', e.g. {slugified(slug, kind)!r}; not a number or a uuid.",
        )
    return {name: value for name, value in data.items() if name not in _SET_BY_SERVER}


def title_of(kind: Kind, data: Mapping[str, Any]) -> str:
    """The title of a new register or schema, or its slug if it has no title."""
    title = data.get("title") or data.get("slug")
    if not title:
        guess = did_you_mean("title", (name for name in data if name not in ("title", "slug", "description")))
        raise InvalidInput(
            f"A {kind} needs a title.", hint=f'Give data {{"title": "..."}}.{" " + guess if guess else ""}'
        )
    return str(title).strip()


def given_uuid(kind: Kind, data: Mapping[str, Any]) -> str | None:
    """The uuid that the caller chose for a new register or schema."""
    given = data.get("uuid")
    if given is None:
        return None
    uuid = as_uuid(given) if isinstance(given, str) else None
    if uuid is None:
        raise _wrong(kind, "uuid", "must be a uuid", given)
    return uuid


def first_version(data: Mapping[str, Any]) -> str:
    return str(data.get("version") or _FIRST_VERSION)


def body_of(fields: Mapping[str, Any], **servers: Any) -> dict[str, Any]:
    """The body: all fields without a dedicated attribute."""
    body = {name: value for name, value in fields.items() if name not in _OWN_ATTRIBUTES and value is not None}
    return {**body, **servers}


def check_version(entity: Register | Schema, if_version: str | None) -> None:
    if if_version is not None and if_version != entity.version:
        raise VersionMismatch(
            f"{type(entity).__name__} {entity.slug!r} is at version {entity.version}, not {if_version}.",
            hint="Read it again and repeat the change on what you find.",
            details={"current": entity.version, "expected": if_version},
        )


def apply_fields(entity: E, fields: Mapping[str, Any], *, merge: bool) -> E:
    """The entity with the given fields set; the others stay.

    With `merge`, objects among the fields are merged member by member (null removes a member), and `required` adds
    names; otherwise fields are replaced. Either way, names of removed properties leave `required`. The last part of the
    version is incremented unless the caller gives a version.
    """
    given = {name: value for name, value in fields.items() if name not in _OWN_ATTRIBUTES}
    whole = merge_patch(entity.body, given) if merge else {**entity.body, **given}
    body = {name: value for name, value in cast("dict[str, Any]", whole).items() if value is not None}
    if isinstance(body.get("required"), list):
        body["required"] = _required(entity.body, body, merged=merge and given.get("required") is not None)
    title = str(fields.get("title") or entity.title).strip()
    version = str(fields.get("version") or entity.version)
    if version == entity.version and (body != entity.body or title != entity.title):
        version = next_version(version)
    return replace(entity, title=title, version=version, body=body)


def kept_required(current: Schema, proposed: Schema, fields: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """A warning if the caller's `required` left out names that stay in it."""
    given = as_list(fields.get("required"))
    kept = [name for name in as_list(current.body.get("required")) if name not in given]
    kept = [name for name in kept if name in as_list(proposed.body.get("required"))]
    if fields.get("required") is None or not kept:
        return ()
    named = ", ".join(map(repr, kept[:10]))
    message = f"still requires {named}: an update adds names. To make one optional, patch it with required false."
    return ({"path": "/required", "rule": "required", "message": message},)


def _required(old: Mapping[str, Any], new: Mapping[str, Any], *, merged: bool) -> list[Any]:
    """The required names after a change: in a merge the old ones stay, and those of removed properties always go."""
    before, after = as_object(old.get("properties")), as_object(new.get("properties"))
    names = [*as_list(old.get("required")), *new["required"]] if merged else new["required"]
    kept = [name for name in names if not isinstance(name, str) or name not in before or name in after]
    if merged:
        kept = [name for name in kept if as_object(after.get(str(name))).get("required") is not False]
    return _distinct(kept)


def _distinct(values: list[Any]) -> list[Any]:
    return [value for place, value in enumerate(values) if value not in values[:place]]


def entity_not_found(kind: Kind, ref: Ref, known: Sequence[Register | Schema]) -> NotFound:
    """A NotFound error that suggests names the caller could have meant."""
    named = ", ".join(f"{one.id} {one.slug}" for one in known[:_MOST_NAMED])
    more = ", ..." if len(known) > _MOST_NAMED else ""
    guess = did_you_mean(str(ref), (one.slug for one in known))
    have = f"You have access to {counted(len(known), kind)}{': ' if known else ''}{named}{more}."
    message = f"{kind.capitalize()} {str(ref)[:80]} not found.{' ' + guess if guess else ''} {have}"
    return EntityNotFound(message, "registers" if kind == "register" else "schemas")


def chosen_slug(
    rows: Rows,
    kind: Kind,
    data: Mapping[str, Any],
    title: str,
    organisation: str,
    seen: Callable[[Register | Schema], bool],
    current: Register | Schema | None = None,
) -> str:
    """The requested slug, if it is free in the organisation; without a request, the current one or a new one.

    The error names the slug's holder only if the caller may see it (`seen`).
    """
    slug = data.get("slug")
    if not slug and current is None:
        return store.free_slug(rows, kind, title, organisation)
    slug = slug or (current.slug if current is not None else title)
    named = store.named_registers(rows, slug) if kind == "register" else store.named_schemas(rows, slug)
    for holder in named:
        if holder.organisation != organisation or (current is not None and holder.id == current.id):
            continue
        if seen(holder):
            hint = "Choose another one, or update that one."
            raise Conflict(f"The slug {slug!r} belongs to {kind} {holder.id}.", hint=hint)
        raise Conflict(f"The slug {slug!r} is taken.", hint="Choose another one.")
    return slug


def refuse_taken_uuid(rows: Rows, kind: Kind, uuid: str | None) -> None:
    if uuid is not None and _find(rows, kind, uuid) is not None:
        raise Conflict(f"A {kind} with the uuid {uuid} exists already.", hint="Update it instead.")


def refuse_nonempty(
    rows: Rows, kind: Kind, entity: Register | Schema, *, with_count: bool, purgeable: bool = False
) -> None:  # fmt: skip
    """Conflict while there are objects; gives their number only to callers who may see all of them (`with_count`).

    Deleted objects do not count if they are `purgeable`: they are purged with the register or schema.
    """
    living, deleted = store.count_objects(rows, kind, entity.id)
    if not living and (purgeable or not deleted):
        return
    if not with_count:
        raise Conflict(f"The {kind} {entity.slug!r} still has objects.", hint="Delete and purge them first.")
    also = f" and {counted(deleted, 'deleted one that is', 'deleted ones that are')} not purged" if deleted else ""
    raise Conflict(
        f"The {kind} {entity.slug!r} still has {counted(living, 'object')}{also}.",
        hint="Delete the rest; then this call shows how to purge all of them.",
        details={"objects": living, "deleted": deleted},
    )


def refuse_composed(schema: Schema, users: Sequence[Schema], seen: Callable[[Schema], bool]) -> None:
    if users:
        known = ", ".join([user.slug for user in users if seen(user)][:_MOST_NAMED]) or "others"
        raise Conflict(f"Schema {schema.slug!r} is part of {known}.", hint="Change those first.")


def _wrong(kind: Kind, name: str, rule: str, value: Any) -> InvalidInput:
    return InvalidInput(
        f"{name} of a {kind} {rule}.",
        hint=f"It is {_quoted(value)} now.",
        details={"problems": [{"path": f"/{name}", "rule": "type", "message": rule}]},
    )


def _quoted(value: Any) -> str:
    written = msgspec.json.encode(value).decode()
    return written if len(written) <= 60 else f"{written[:57]}..."


def _find(rows: Rows, kind: Kind, ref: Ref) -> Register | Schema | None:
    return store.find_register(rows, ref) if kind == "register" else store.find_schema(rows, ref)


def page_of(found: list[E], limit: int, offset: int) -> Page[E]:
    return Page(found[offset : offset + limit], len(found), limit, offset)
