"""What a change of a definition must not do: show its author, or let it find out, what it could not read before.

Administrators read everything, so nothing here is about them. Everybody else who may define leaves alone what rules on
reading keep from it: those rules, the properties they hide, and whatever could look at such a property in its stead.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.kernel.errors import Forbidden
from pentad.kernel.json_patch import split_pointer
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.authorization import NOTHING, Block, Grantable, read_block
from pentad.rooms.registers.definitions.json_values import as_mapping
from pentad.rooms.registers.definitions.properties import properties_read
from pentad.rooms.registers.models import Caller, Pair, Register, Schema

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.migration import MigrationStep

_HINT: Final = "Leave it as it is, or ask an administrator."
_ABOUT_WHOLE_OBJECTS: Final = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties"),
    *("additionalProperties", "unevaluatedProperties", "$defs", "definitions"),
)
"""Rules of a schema that can ask about any property."""


def refuse_widening(access: AccessRules, caller: Caller, before: Pair, after: Pair) -> None:
    """Forbidden where a changed schema would tell its author of what the old one kept from it."""
    if access.is_free(caller):
        return
    _refuse_other_readers(access, caller, before.schema, after.schema)
    hidden = access.hidden(caller, before)
    if not hidden:
        return
    old, new = before.definition, after.definition
    for name in sorted(hidden):
        if not _is_kept(name, old, new):
            raise _refused(f"You may not read {name!r}, so you may not change what the schema says of it.")
    if any(old.body.get(keyword) != new.body.get(keyword) for keyword in _ABOUT_WHOLE_OBJECTS):
        raise _refused(f"The change could ask about {_named(hidden)}, which you may not read.")
    if "#/" in _text(old.properties[name].definition for name in hidden) and old.body["properties"] != _in(new, old):
        raise _refused(f"The change is one of {_named(hidden)} too, which you may not read.")
    for name, found in new.properties.items():
        if name not in hidden and (read := hidden.intersection(properties_read(found))):
            raise _refused(f"The property {name!r} is made from {_named(read)}, which you may not read.")
    for place, ours, theirs in _blocks(before, after):
        if _looks(theirs, ours, hidden):
            raise _refused(f"{place} asks about {_named(hidden)}, which you may not read.")


def refuse_opening(
    access: AccessRules, caller: Caller, before: Register, after: Register, pairs: Iterable[Pair]
) -> None:
    """The same for a changed register; `pairs` are the new one with each of its schemas."""
    if access.is_free(caller):
        return
    _refuse_other_readers(access, caller, before, after)
    for pair in pairs:
        hidden = access.hidden(caller, pair)
        known = _block(before, pair.definition) if pair.schema.id in before.schemas else NOTHING
        if hidden and _looks(_block(after, pair.definition), known, hidden):
            raise _refused(f"The register's authorization asks about {_named(hidden)}, which you may not read.")


def refuse_migration(
    access: AccessRules,
    caller: Caller,
    steps: Sequence["MigrationStep"],
    pairs: Sequence[Pair],
    organisations: Collection[str],
) -> None:
    """Forbidden where steps reach what the caller may not read and change: properties, or objects anywhere.

    `pairs` is where the schema has objects or could have, `organisations` whose objects they are.
    """
    if not steps or access.is_free(caller):
        return
    for pair in pairs:
        hidden = access.hidden(caller, pair)
        for name in sorted({name for step in steps for name in _touched(step)}):
            if name in hidden or not access.sets(caller, pair, name):
                raise _refused(f"The migration changes {name!r}, which you may not read and change in every object.")
        if not (access.has_all(caller, pair, "read") and access.has_all(caller, pair, "update")):
            raise _refused("The migration changes objects that you may not read and change.")
    if set(organisations) - {access.organisation(caller)}:
        raise _refused("The migration changes objects that you may not read and change.")


def _refuse_other_readers(
    access: AccessRules, caller: Caller, before: Register | Schema, after: Register | Schema
) -> None:
    if access.reads_all(caller, before) or _readers(before) == _readers(after):
        return
    kind = type(before).__name__.lower()
    raise _refused(f"You may not read everything in the {kind} {before.slug!r}, so you may not say who may.")


def _readers(entity: Register | Schema) -> Any:
    return as_mapping(entity.body.get("authorization")).get("read")


def _is_kept(name: str, old: "CompiledSchema", new: "CompiledSchema") -> bool:
    """Whether a property is the same in both, with what the schema demands of it."""
    known, found = old.properties[name], new.properties.get(name)
    return (
        found is not None
        and known.definition == found.definition
        and (name in old.required) == (name in new.required)
        and _unique(old, name) == _unique(new, name)
    )


def _unique(definition: "CompiledSchema", name: str) -> set[Any]:
    return {one.paths for one in definition.unique if any(path[0] == name for path in one.paths)}


def _in(new: "CompiledSchema", old: "CompiledSchema") -> Mapping[str, Any]:
    """What the new schema says of the old one's properties."""
    return {name: value for name, value in new.body["properties"].items() if name in old.body["properties"]}


def _blocks(before: Pair, after: Pair) -> Iterator[tuple[str, Block, Block]]:
    """Each authorization block of a schema, as it was and as it is to be."""
    old, new = before.definition, after.definition
    yield "The schema's authorization", _block(before.schema, old), _block(after.schema, new)
    for name, found in new.properties.items():
        if found.authorization:
            known = old.properties.get(name)
            was = NOTHING if known is None else read_block(known.authorization, name, old, of_property=True)
            yield f"The authorization of {name!r}", was, read_block(found.authorization, name, new, of_property=True)


def _block(entity: Register | Schema, definition: "CompiledSchema") -> Block:
    return read_block(entity.body.get("authorization"), entity.slug, definition)


def _looks(after: Block, before: Block, hidden: Collection[str]) -> bool:
    """Whether a rule that was not there asks about something hidden: what it grants would tell of it."""

    def known(right: Grantable) -> Sequence[Any]:
        return before.grants.get(right, ())

    return any(
        grant.looks_at(hidden) and grant not in known(right) for right, given in after.grants.items() for grant in given
    )


def _touched(step: "MigrationStep") -> Iterator[str]:
    path = split_pointer(step.property) if step.property.startswith("/") else (step.property,)
    yield str(path[0])
    if step.kind == "rename" and len(path) == 1:
        yield step.to


def _text(values: Iterable[Any]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _named(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names)[:5])


def _refused(message: str) -> Forbidden:
    return Forbidden(message, hint=_HINT)
