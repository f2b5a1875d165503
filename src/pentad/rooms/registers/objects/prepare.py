"""Properties a caller gives but their object does not keep (`removeAfterWriteBack`): taken off before it is stored.

What they named until now is whoever points back, for that is all that is kept of them.

XXX New objects, made ready before the transaction that writes them: checked, and complete but for their ids.

What all of one write share is found out once, for there may be thousands of them.

XXX Changed objects, made ready inside the transaction that writes them: allowed, checked, and complete.

The counterpart of `making`, which has the new ones. Nothing is written here.

XXX The checks every change of an object has to pass, and how each of them says no.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pentad.kernel.errors import Conflict, InvalidInput
from pentad.kernel.ports import Rows
from pentad.rooms.registers.catalogue_store import as_uuid
from pentad.rooms.registers.definitions.object_validation import rejection, text_of
from pentad.rooms.registers.models import Operation, Pair, StoredObject
from pentad.rooms.registers.objects import integrity, locks
from pentad.rooms.registers.objects.integrity import values_at
from pentad.rooms.registers.objects.lookup import check_version, missing
from pentad.rooms.registers.objects.pending_changes import (
    NO_HASH,
    Carried,
    ChangeAction,
    Draft,
    Held,
    Task,
    after,
    digest,
    link,
    shared_facts,
)
from pentad.rooms.registers.query.json_sql import LONGEST_INDEXED_TEXT
from pentad.rooms.registers.query.models import Path

if TYPE_CHECKING:
    from pentad.rooms.registers.access import AccessRules
    from pentad.rooms.registers.catalogue import Catalogue
    from pentad.rooms.registers.catalogue_definitions import SchemaFacts
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema, Prepared
    from pentad.rooms.registers.definitions.object_validation import Problem
    from pentad.rooms.registers.objects.lookup import Visibility


def named_until_now(
    rows: Rows, definition: "CompiledSchema", stored: StoredObject, visible: "Visibility | None"
) -> dict[str, list[str]]:
    """What each of these properties names, as far as the caller may see it: the rest is not its to patch or let go."""
    seen = None if visible is None else visible.objects
    found = integrity.pointing_back(rows, definition, [stored.uuid], seen)[stored.uuid]
    return {facts.path[0]: found[facts.path[0]] for facts in definition.written_back if facts.filled}


def as_read(definition: "CompiledSchema", data: Mapping[str, Any], named: Mapping[str, list[str]]) -> dict[str, Any]:
    """The data with these properties in it, as a caller knows it and may patch it."""
    many = {facts.path[0]: facts.many for facts in definition.written_back}
    kept = {name: value for name, value in data.items() if name not in named}
    return {**kept, **{name: here if many[name] else here[0] for name, here in named.items() if here}}


def carried_off(
    definition: "CompiledSchema", data: Mapping[str, Any], named: Mapping[str, list[str]]
) -> tuple[dict[str, Any], str, dict[str, Carried]]:
    """The data without these properties, its text, and what they are to name instead of what they did."""
    carried: dict[str, Carried] = {}
    for facts in definition.written_back:
        if facts.filled:
            name = facts.path[0]
            carried[name] = Carried(named.get(name, ()), _names(name, data.get(name)))
    rest = {name: value for name, value in data.items() if name not in carried}
    return rest, text_of(rest)[0], carried


def _names(name: str, value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    given = [one for one in values if one not in (None, "")]
    if not all(isinstance(one, str) for one in given):
        problem = {"path": f"/{name}", "rule": "writeBack", "message": "must name objects by their uuids"}
        raise InvalidInput(
            f"/{name} is only written into other objects, so it must name them by their uuids.",
            hint="Create the other objects first.",
            details={"problems": [problem]},
        )
    return list(dict.fromkeys(map(integrity.named, given)))


def caller_facts(task: Task) -> dict[str, str]:
    """What defaults and computed values may know of whoever writes."""
    return {"user": task.caller.principal.id, "name": task.caller.principal.name}


class NewObjects:
    """Makes the drafts of one write."""

    __slots__ = ("_access", "_carried", "_facts", "_free", "_inverse", "_long", "_organisation", "_shared", "_task")

    def __init__(self, task: Task, facts: "SchemaFacts", access: "AccessRules") -> None:
        self._task = task
        self._access = access
        self._facts = caller_facts(task)
        self._free = access.is_free(task.caller)
        self._inverse = frozenset(facts.inverse).difference(facts.carried)
        self._carried = facts.carried
        self._long = facts.indexes.texts
        self._organisation = access.organisation(task.caller)
        self._shared = shared_facts(task.pair.register.id, task.pair.schema.id, 1, "create", task.now, task.who)

    def draft(self, operation: Operation, fresh: str) -> Draft:
        """The draft of one of them; `fresh` is its uuid unless the operation names another."""
        given = operation.data
        if given is None:
            raise InvalidInput("An object needs data.", hint='Give data {"property": value, ...}.')
        task = self._task
        pair, caller, now = task.pair, task.caller, task.now
        definition = pair.definition
        if not self._free:
            self._access.check(caller, pair, "create", given)
            given = self._access.writable(caller, pair, given)
        if self._inverse:
            given = {name: value for name, value in given.items() if name not in self._inverse}
        prepared = definition.prepare(given, now=now, caller_facts=self._facts)
        if prepared.problems:
            raise rejection(prepared.problems)
        data, text = prepared.data, prepared.text
        carried: Mapping[str, Carried] | None = None
        if self._carried:
            data, text, carried = carried_off(definition, data, {})
        if may_be_long(text):
            refuse_long(self._long, data)
        stored = StoredObject(
            0, fresh if operation.uuid is None else chosen_uuid(operation.uuid), pair.register.id, pair.schema.id, 1,
            text, definition.slug_of(data), caller.principal.id, self._organisation, now, now, None, None, data,
        )  # fmt: skip
        references = integrity.references_of(definition, data) if definition.references else None
        linked = link(NO_HASH, stored.uuid, self._shared, digest(text))
        return Draft("create", stored, None, references, definition.texts(data), carried=carried, link=linked)


class ChangedObjects:
    """Makes the drafts of changes."""

    def __init__(self, catalogue: "Catalogue", access: "AccessRules") -> None:
        self._catalogue = catalogue
        self._definitions = catalogue.definitions
        self._access = access

    def editable(
        self, task: Task, held: Held | None, ref: int | str | None, right: Literal["update", "delete"],
        if_version: int | None,
    ) -> Held:  # fmt: skip
        """The object, if the caller may change it now and it is the version the caller knows."""
        if held is not None and held.stored.is_deleted:
            held = None
        if held is None and ref is None:
            raise missing(task.pair, ref)
        named = held.stored.uuid if ref is None and held is not None else ref or ""
        stored = self._access.found(task.caller, task.pair, right, named, None if held is None else held.stored)
        assert held is not None  # noqa: S101  it was found
        check_version(stored, if_version)
        locks.refuse_locked(stored, task.caller.principal.id, task.now)
        return held

    def prepared(self, task: Task, data: dict[str, Any], previous: Mapping[str, Any] | None) -> "Prepared":
        """The data as it is to be stored; InvalidInput with every problem it has."""
        facts = self._definitions.facts(task.pair.definition)
        for name in facts.inverse:
            if name not in facts.carried:
                data.pop(name, None)
        prepared = task.pair.definition.prepare(data, previous=previous, now=task.now, caller_facts=caller_facts(task))
        if prepared.problems:
            hidden = self._access.hidden(task.caller, task.pair, previous)
            raise rejection([one.without_values() if _is_in(one, hidden) else one for one in prepared.problems])
        return prepared

    def drafted(self, task: Task, action: ChangeAction, held: Held, data: dict[str, Any], text: str) -> Draft:
        """The draft that gives an object other data, which `text` holds to the letter."""
        definition, old = task.pair.definition, held.stored
        stored = old.altered(
            version=old.version + 1,
            text=text,
            slug=definition.slug_of(data),
            updated_at=after(old.updated_at, task.now),
            deleted=None,
            data=data,
        )
        self._refuse_long(task.pair, stored)
        known = None if old.is_deleted else frozenset(integrity.references_of(definition, old.data))
        references = integrity.references_of(definition, data)
        return Draft(action, stored, held, references, definition.texts(data), known=known)

    def redrafted(self, task: Task, draft: Draft, data: dict[str, Any], text: str) -> Draft:
        """A draft that is not written yet, with other data."""
        definition = task.pair.definition
        stored = draft.after.altered(text=text, slug=definition.slug_of(data), data=data)
        self._refuse_long(task.pair, stored)
        references = integrity.references_of(definition, data)
        return Draft(
            draft.action, stored, draft.before, references, definition.texts(data), draft.at, draft.known, draft.carried
        )

    def _refuse_long(self, pair: Pair, stored: StoredObject) -> None:
        if may_be_long(stored.text):
            refuse_long(self._definitions.facts(pair.definition).indexes.texts, stored.data)


def _is_in(problem: "Problem", hidden: frozenset[str]) -> bool:
    return bool(hidden) and (not problem.where or problem.where[0] in hidden)


_SHORT: Final = LONGEST_INDEXED_TEXT // 4
"""Characters that are never more bytes than an index takes."""


def uuid_taken(uuid: str) -> Conflict:
    return Conflict(
        f"An object with the uuid {uuid} exists already, or did.",
        hint="Update it, or leave the uuid out to get a fresh one.",
        details={"rule": "unique", "properties": ["uuid"], "existing": uuid},
    )


def chosen_uuid(uuid: str) -> str:
    """The canonical form of a uuid a caller chose."""
    if (canonical := as_uuid(uuid)) is None:
        raise InvalidInput(f"{uuid[:80]!r} is not a uuid.", hint="Leave it out to get one.")
    return canonical


def may_be_long(text: str) -> bool:
    """Whether the JSON text of an object has room for a text too long for an index."""
    return len(text) > (LONGEST_INDEXED_TEXT if text.isascii() else _SHORT)


def refuse_long(paths: Sequence[Path], data: Mapping[str, Any]) -> None:
    """A text in an indexed property has to fit into the index."""
    for path in paths:
        values = [data.get(str(path[0]))] if len(path) == 1 else values_at(data, [str(step) for step in path])
        for value in values:
            if isinstance(value, str) and len(value) > _SHORT and len(value.encode()) > LONGEST_INDEXED_TEXT:
                where = "/" + "/".join(map(str, path))
                raise InvalidInput(
                    f"{where} is indexed and has more than {LONGEST_INDEXED_TEXT} bytes.",
                    hint="Shorten it, or leave x-index, facetable and unique out of the property.",
                    details={
                        "problems": [{"path": where, "rule": "maxLength", "message": "is too long to be indexed"}]
                    },
                )
