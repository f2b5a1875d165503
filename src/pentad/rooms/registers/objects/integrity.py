"""References between objects: what data refers to, whether it exists, and what refers back.

Only new references are checked, inside the writing transaction: one left dangling on purpose (NO_ACTION) must not block
later changes of its object. A new reference to a hidden object is refused exactly like one to a missing object.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Rows
from pentad.rooms.registers import store as catalogue_store
from pentad.rooms.registers.catalogue.compiled_schemas import target as find_target
from pentad.rooms.registers.definitions.references import referenced_uuid
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.pending_changes import PendingChange, Reference

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.objects.lookup import Visibility

Seen = Callable[[Sequence[str]], Mapping[str, Collection[str]]]
"""Returns which objects the caller may see, each with its hidden properties."""
_NOTHING: frozenset[str] = frozenset()


def references_of(definition: "CompiledSchema", data: Mapping[str, Any]) -> list[Reference]:
    """The references in the data, by property. Embedded objects are data, not references."""
    return [
        Reference(pointer(facts.path), referenced_uuid(value))
        for facts, value in definition.targets(data)
        if not facts.filled
    ]


def broken_references(
    rows: Rows,
    definition: "CompiledSchema",
    pending_changes: Sequence[PendingChange],
    visible: "Visibility | None" = None,
) -> dict[int, InvalidInput]:
    """The changes, by position, that refer to a missing object or one of the wrong schema.

    With `visible`, objects hidden from the caller count as missing.
    """
    trusted = {pointer(facts.path) for facts in definition.references if not facts.validate}
    added = [[one for one in _added(pending) if one.path not in trusted] for pending in pending_changes]
    targets = {reference.target for references in added for reference in references}
    if not targets:
        return {}
    expected = _target_schemas(rows, definition, visible)
    present = store.live_objects(rows, sorted(targets))
    if visible is not None and present:
        seen = visible.objects(sorted(present))
        present = {uuid: schema for uuid, schema in present.items() if uuid in seen}
    present.update((pending.after.uuid, pending.after.schema) for pending in pending_changes if _appears(pending))
    refused: dict[int, InvalidInput] = {}
    looked_at = -1
    while looked_at != len(refused):  # a reference to a refused object of the same batch is refused too
        looked_at = len(refused)
        for position, references in enumerate(added):
            missing = [one for one in references if not _fits(one, expected, present)]
            if missing and position not in refused:
                refused[position] = dangling_error(rows, missing, expected, present)
                if _appears(pending_changes[position]):
                    present.pop(pending_changes[position].after.uuid, None)
    return refused


def inverse_values(
    rows: Rows, definition: "CompiledSchema", uuids: Sequence[str], seen: Seen | None = None
) -> dict[str, dict[str, list[str] | str | None]]:
    """The properties filled from referring objects (`inversedBy`), for each uuid."""
    many = {facts.path[0]: facts.many for facts in definition.references if facts.filled}
    return {
        uuid: {name: here if many[name] else next(iter(here), None) for name, here in members.items()}
        for uuid, members in back_references(rows, definition, uuids, seen).items()
    }


def back_references(
    rows: Rows, definition: "CompiledSchema", uuids: Sequence[str], seen: Seen | None = None
) -> dict[str, dict[str, list[str]]]:
    """The objects that refer back, in order, for each property filled on reading.

    `seen` limits them to what the caller may see; without it, all live objects count. References in hidden properties
    do not count, because the other end would reveal the value.
    """
    found: dict[str, dict[str, list[str]]] = {uuid: {} for uuid in uuids}
    pointing = store.references_to(rows, uuids)
    sources = sorted({source for source, _, _ in pointing})
    living = dict.fromkeys(store.live_objects(rows, sources), _NOTHING) if seen is None else seen(sources)
    for facts in definition.references:
        if not facts.filled or facts.inversed_by is None:
            continue
        schema = find_target(rows, facts.target, definition.organisation)
        path = pointer((facts.inversed_by,))
        for uuid, members in found.items():
            members[facts.path[0]] = sorted(
                source
                for source, reference, kind in pointing
                if reference.target == uuid
                and source in living
                and facts.inversed_by not in living[source]
                and schema is not None
                and kind == schema.id
                and (reference.path == path or reference.path.startswith(f"{path}/"))
            )
    return found


def _appears(pending: PendingChange) -> bool:
    """Whether the change creates or restores the object."""
    return pending.before is None or (pending.before.stored.is_deleted and not pending.after.is_deleted)


def _added(pending: PendingChange) -> list[Reference]:
    if not pending.references:
        return []
    known = frozenset[Reference]() if pending.known is None else pending.known
    return [reference for reference in pending.references if reference not in known]


def _target_schemas(
    rows: Rows, definition: "CompiledSchema", visible: "Visibility | None"
) -> dict[str, int | None]:  # fmt: skip
    """The schema required of each reference's target; None if that schema does not exist."""
    found: dict[str, int | None] = {}
    for facts in definition.references:
        schema = find_target(rows, facts.target, definition.organisation)
        known = schema is not None and (visible is None or visible.schema(schema))
        found[pointer(facts.path)] = schema.id if schema is not None and known else None
    return found


def _fits(reference: Reference, expected: Mapping[str, int | None], present: Mapping[str, int]) -> bool:
    return reference.target in present and present[reference.target] == expected.get(reference.path)


def dangling_error(
    rows: Rows, missing: Sequence[Reference], expected: Mapping[str, int | None], present: Mapping[str, int]
) -> InvalidInput:
    """The error for a reference to an object that is missing or of another schema."""
    problems: list[dict[str, Any]] = []
    for reference in missing:
        schema = expected.get(reference.path)
        if schema is None:
            message = "names a schema that does not exist"
        elif reference.target in present:
            other = _slug_of(rows, present[reference.target])
            message = f"must be an object of schema {_slug_of(rows, schema)}, but is one of schema {other}"
        else:
            message = f"must be the uuid of an object of schema {_slug_of(rows, schema)}, and no such object exists"
        problems.append({"path": reference.path, "rule": "$ref", "message": message, "received": reference.target})
    first = problems[0]
    return InvalidInput(
        f"{first['path']} {first['message']} ({first['received'][:80]!r}).",
        hint="Create what it points at first, or leave the property out.",
        details={"problems": problems},
    )


def _slug_of(rows: Rows, schema: int) -> str:
    found = catalogue_store.find_schema(rows, schema)
    return repr(found.slug) if found is not None else str(schema)
