"""Prepares pending changes: checks rights, validates the data and completes it. Nothing is written here.

`CreatePreparer` runs before the transaction and computes only once what all objects of a write share. `UpdatePreparer`
runs inside the transaction.

Callers send transient properties (`removeAfterWriteBack`), but they are not stored. They are only written into the
objects they name, so their current value is the objects that refer back.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Rows
from pentad.rooms.registers.definitions.object_validation import json_text, redacted, validation_error
from pentad.rooms.registers.definitions.references import values_at
from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.objects import integrity, locks
from pentad.rooms.registers.objects.lookup import check_version, object_not_found
from pentad.rooms.registers.objects.pending_changes import (
    NO_HASH,
    ChangeAction,
    ExistingObject,
    PendingChange,
    TransientReferences,
    WriteContext,
    chain_facts,
    chain_hash,
    change_time,
    state_digest,
)
from pentad.rooms.registers.query.json_sql import LONGEST_INDEXED_TEXT
from pentad.rooms.registers.query.models import Path
from pentad.rooms.registers.store import as_uuid

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.catalogue import Catalogue
    from pentad.rooms.registers.catalogue.compiled_schemas import SchemaFacts
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema, Prepared
    from pentad.rooms.registers.objects.lookup import Visibility


def current_transient_values(
    rows: Rows, definition: "CompiledSchema", stored: StoredObject, visible: "Visibility | None"
) -> dict[str, list[str]]:
    """The objects transient properties refer to, limited to those the caller may see and so change."""
    seen = None if visible is None else visible.objects
    found = integrity.back_references(rows, definition, [stored.uuid], seen)[stored.uuid]
    return {facts.path[0]: found[facts.path[0]] for facts in definition.written_back if facts.filled}


def with_transient_values(
    definition: "CompiledSchema", data: Mapping[str, Any], named: Mapping[str, list[str]]
) -> dict[str, Any]:
    """The data including these properties, as a caller sees and patches it."""
    many = {facts.path[0]: facts.many for facts in definition.written_back}
    kept = {name: value for name, value in data.items() if name not in named}
    return {**kept, **{name: here if many[name] else here[0] for name, here in named.items() if here}}


def split_transient_values(
    definition: "CompiledSchema", data: Mapping[str, Any], named: Mapping[str, list[str]]
) -> tuple[dict[str, Any], str, dict[str, TransientReferences]]:
    """The data without transient properties, its text, and the old and new references of those properties."""
    transient: dict[str, TransientReferences] = {}
    for facts in definition.written_back:
        if facts.filled:
            name = facts.path[0]
            transient[name] = TransientReferences(named.get(name, ()), _uuids(name, data.get(name)))
    rest = {name: value for name, value in data.items() if name not in transient}
    return rest, json_text(rest)[0], transient


def _uuids(name: str, value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    given = [one for one in values if one not in (None, "")]
    if not all(isinstance(one, str) for one in given):
        problem = {"path": f"/{name}", "rule": "writeBack", "message": "must name objects by their uuids"}
        raise InvalidInput(
            f"/{name} is only written into other objects, so it must name them by their uuids.",
            hint="Create the other objects first.",
            details={"problems": [problem]},
        )
    return list(dict.fromkeys(map(integrity.referenced_uuid, given)))


def caller_facts(context: WriteContext) -> dict[str, str]:
    """Information about the caller for defaults and computed values."""
    return {"user": context.caller.principal.id, "name": context.caller.principal.name}


class CreatePreparer:
    """Prepares the new objects of one write."""

    __slots__ = (
        "_access",
        "_context",
        "_facts",
        "_free",
        "_inverse",
        "_long",
        "_organisation",
        "_shared",
        "_transient",
    )

    def __init__(self, context: WriteContext, facts: "SchemaFacts", access: "AccessRules") -> None:
        self._context = context
        self._access = access
        self._facts = caller_facts(context)
        self._free = access.is_unrestricted(context.caller)
        self._inverse = frozenset(facts.inverse).difference(facts.transient)
        self._transient = facts.transient
        self._long = facts.indexes.texts
        self._organisation = access.organisation(context.caller)
        self._shared = chain_facts(
            context.pair.register.id, context.pair.schema.id, 1, "create", context.now, context.provenance
        )

    def prepare(self, operation: Operation, fresh: str) -> PendingChange:
        """The pending change of one new object; `fresh` is its uuid unless the operation names one."""
        given = operation.data
        if given is None:
            raise InvalidInput("An object needs data.", hint='Give data {"property": value, ...}.')
        context = self._context
        pair, caller, now = context.pair, context.caller, context.now
        definition = pair.definition
        if not self._free:
            self._access.check(caller, pair, "create", given)
            given = self._access.writable(caller, pair, given)
        if self._inverse:
            given = {name: value for name, value in given.items() if name not in self._inverse}
        prepared = definition.prepare(given, now=now, caller_facts=self._facts)
        if prepared.problems:
            raise validation_error(prepared.problems)
        data, text = prepared.data, prepared.text
        transient: Mapping[str, TransientReferences] | None = None
        if self._transient:
            data, text, transient = split_transient_values(definition, data, {})
        if may_exceed_index(text):
            check_indexed_texts(self._long, data)
        stored = StoredObject(
            0, fresh if operation.uuid is None else parse_uuid(operation.uuid), pair.register.id, pair.schema.id, 1,
            text, definition.slug_of(data), caller.principal.id, self._organisation, now, now, None, None,
            pair.schema.version, data,
        )  # fmt: skip
        references = integrity.references_of(definition, data) if definition.references else None
        linked = chain_hash(NO_HASH, stored.uuid, self._shared, state_digest(text))
        return PendingChange(
            "create", stored, None, references, definition.texts(data), transient=transient, link=linked
        )


class UpdatePreparer:
    """Prepares updates."""

    def __init__(self, catalogue: "Catalogue", access: "AccessRules") -> None:
        self._catalogue = catalogue
        self._definitions = catalogue.definitions
        self._access = access

    def editable_object(
        self, context: WriteContext, existing: ExistingObject | None, ref: int | str | None, if_version: int | None
    ) -> ExistingObject:
        """The object, if the caller may change it now and it still has the version the caller knows."""
        if existing is not None and existing.stored.is_deleted:
            existing = None
        if existing is None and ref is None:
            raise object_not_found(context.pair, ref)
        named = existing.stored.uuid if ref is None and existing is not None else ref or ""
        stored = self._access.found(
            context.caller, context.pair, "update", named, None if existing is None else existing.stored
        )
        assert existing is not None  # noqa: S101  it was found
        check_version(stored, if_version)
        locks.check_lock(stored, context.caller.principal.id, context.now)
        return existing

    def prepare_data(
        self, context: WriteContext, data: dict[str, Any], previous: Mapping[str, Any] | None
    ) -> "Prepared":
        """The data as it will be stored. Raises InvalidInput with all problems."""
        facts = self._definitions.facts(context.pair.definition)
        for name in facts.inverse:
            if name not in facts.transient:
                data.pop(name, None)
        prepared = context.pair.definition.prepare(
            data, previous=previous, now=context.now, caller_facts=caller_facts(context)
        )
        if prepared.problems:
            hidden = self._access.hidden(context.caller, context.pair, previous)
            raise validation_error(redacted(prepared.problems, hidden))
        return prepared

    def pending_update(
        self, context: WriteContext, action: ChangeAction, existing: ExistingObject, data: dict[str, Any], text: str
    ) -> PendingChange:
        """The pending change that gives an object new data; `text` is exactly that data as JSON.

        A past state may be from before references were stored as uuids.
        """
        definition, old = context.pair.definition, existing.stored
        if action in ("restore", "revert") and (canonical := definition.with_uuid_references(data)) is not data:
            data, text = canonical, json_text(canonical)[0]
        stored = old.altered(
            version=old.version + 1,
            text=text,
            slug=definition.slug_of(data),
            updated_at=change_time(old.updated_at, context.now),
            deleted_text=None,
            schema_version=context.pair.schema.version,
            known_data=data,
        )
        self._refuse_long(context.pair, stored)
        known = None if old.is_deleted else frozenset(integrity.references_of(definition, old.data))
        references = integrity.references_of(definition, data)
        return PendingChange(action, stored, existing, references, definition.texts(data), known=known)

    def with_data(
        self, context: WriteContext, pending: PendingChange, data: dict[str, Any], text: str
    ) -> PendingChange:
        """A pending change with different data."""
        definition = context.pair.definition
        stored = pending.after.altered(text=text, slug=definition.slug_of(data), known_data=data)
        self._refuse_long(context.pair, stored)
        references = integrity.references_of(definition, data)
        return PendingChange(
            pending.action,
            stored,
            pending.before,
            references,
            definition.texts(data),
            pending.at,
            pending.known,
            pending.transient,
        )

    def _refuse_long(self, pair: Pair, stored: StoredObject) -> None:
        if may_exceed_index(stored.text):
            check_indexed_texts(self._definitions.facts(pair.definition).indexes.texts, stored.data)


_ALWAYS_FITS: Final = LONGEST_INDEXED_TEXT // 4
"""A number of characters that always fits into an index, in bytes."""


def uuid_taken(uuid: str) -> Conflict:
    return Conflict(
        f"An object with the uuid {uuid} exists already, or did.",
        hint="Update it, or leave the uuid out to get a fresh one.",
        details={"rule": "unique", "properties": ["uuid"], "existing": uuid},
    )


def parse_uuid(uuid: str) -> str:
    """The canonical form of a uuid a caller chose."""
    if (canonical := as_uuid(uuid)) is None:
        raise InvalidInput(
            f"{uuid[:80]!r} is not a uuid, and the id of an object is one.",
            hint="Leave id out to get one. To store ids of your own, declare a property id in the schema.",
        )
    return canonical


def check_same_id(named: str | None, uuid: str) -> None:
    """Raise InvalidInput if the data has another object's id."""
    if named is not None and as_uuid(named) != uuid:
        raise InvalidInput(
            f"The data has the id {named[:80]!r}, but this is object {uuid}.",
            hint="Leave id out of the data, or name the object you mean.",
        )


def may_exceed_index(text: str) -> bool:
    """Whether an object's JSON text is long enough to contain a text too long for an index."""
    return len(text) > (LONGEST_INDEXED_TEXT if text.isascii() else _ALWAYS_FITS)


def check_indexed_texts(paths: Sequence[Path], data: Mapping[str, Any]) -> None:
    """Raise InvalidInput if a text in an indexed property does not fit into the index."""
    for path in paths:
        if too_long_to_index(path, data):
            where = "/" + "/".join(map(str, path))
            raise InvalidInput(
                f"{where} is indexed and has more than {LONGEST_INDEXED_TEXT} bytes.",
                hint="Shorten it, or leave x-index, facetable and unique out of the property.",
                details={"problems": [{"path": where, "rule": "maxLength", "message": "is too long to be indexed"}]},
            )


def too_long_to_index(path: Path, data: Mapping[str, Any]) -> bool:
    """Whether a text at a path is too long for an index."""
    values = [data.get(str(path[0]))] if len(path) == 1 else values_at(data, [str(step) for step in path])
    return any(
        isinstance(value, str) and len(value) > _ALWAYS_FITS and len(value.encode()) > LONGEST_INDEXED_TEXT
        for value in values
    )
