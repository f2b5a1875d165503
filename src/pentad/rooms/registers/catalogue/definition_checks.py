"""Checks on changes of registers and schemas, in addition to the right to define.

A change must not let its author read or find out anything that was hidden before. Administrators can read everything,
so these checks do not apply to them. Everyone else with the right to define must leave alone the read rules that
restrict them, the properties those rules hide, and anything that could read such a property for them. All checks run
inside the unit of work that makes the change.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pentad.kernel.errors import Forbidden, InvalidInput
from pentad.kernel.json_pointer import split_pointer
from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.access.authorization import NOTHING, Block, Grantable, read_block
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.compiled_schemas import Definitions, composed, parent_of
from pentad.rooms.registers.catalogue.entries import chosen_slug
from pentad.rooms.registers.catalogue.schema_change import Allow
from pentad.rooms.registers.definitions.composition import unknown_parent
from pentad.rooms.registers.definitions.properties import properties_read
from pentad.rooms.registers.models import Caller, Pair, Register, Schema
from pentad.rooms.registers.store import Kind

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.migration import MigrationStep

E = TypeVar("E", Register, Schema)

_NO_REGISTER: Final = Register(0, "", "", "", "", {}, (), 0.0, 0.0)
"""The register of a pair if only its schema matters."""
_HINT: Final = "Leave it as it is, or ask an administrator."
_ABOUT_WHOLE_OBJECTS: Final = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties"),
    *("additionalProperties", "unevaluatedProperties", "$defs", "definitions"),
)
"""Rules of a schema that can test any property."""


class DefinitionChecks:
    """Accepts or refuses changes of registers and schemas."""

    def __init__(self, access: AccessRules, definitions: Definitions) -> None:
        self._access = access
        self._definitions = definitions

    def choose_organisation(self, rows: Rows, caller: Caller, data: Mapping[str, Any], known: str) -> str:
        """The organisation of a register or schema; administrators may name another one by id or slug."""
        given = data.get("organisation")
        if not given or given == known or not self._access.is_unrestricted(caller):
            return known
        found = store.organisation_named(rows, given) if isinstance(given, str) else None
        if found is None:
            raise InvalidInput(f"There is no organisation {str(given)[:80]!r}.", hint="Give its id or its slug.")
        return found

    def with_slug_and_organisation(
        self, rows: Rows, caller: Caller, kind: Kind, proposed: E, current: E, data: Mapping[str, Any]
    ) -> E:
        """The changed entity with the slug and organisation the caller asked for."""
        organisation = self.choose_organisation(rows, caller, data, current.organisation)
        seen = partial(self._access.sees, caller)
        slug = chosen_slug(rows, kind, data, current.title, organisation, seen, current)
        return replace(proposed, slug=slug, body={**proposed.body, "organisation": organisation})

    def refuse_unseen(
        self, rows: Rows, caller: Caller, proposed: Schema, known: Iterable[tuple[str, int | str]]
    ) -> None:
        """Refuse to build a schema on one its author may not see, unless it was already built on it."""
        before = list(known)
        for keyword, ref in composed(proposed):
            found = parent_of(rows, ref, proposed.organisation)
            if found is not None and (keyword, ref) not in before and not self._access.sees(caller, found):
                raise unknown_parent(keyword, ref)

    def refuse_opening(self, rows: Rows, caller: Caller, current: Register, proposed: Register) -> None:
        """Forbidden if the changed register would reveal to its author what the old one hid."""
        if self._access.is_unrestricted(caller):
            return
        _refuse_changed_readers(self._access, caller, current, proposed)
        for key in proposed.schemas:
            if (schema := store.find_schema(rows, key)) is None:
                continue
            pair = Pair(proposed, schema, self._definitions.of(rows, schema))
            hidden = self._access.hidden(caller, pair)
            known = _block(current, pair.definition) if schema.id in current.schemas else NOTHING
            if hidden and _asks_anew(_block(proposed, pair.definition), known, hidden):
                raise _refused(f"The register's authorization asks about {_named(hidden)}, which you may not read.")

    def guard(self, rows: Rows, caller: Caller) -> Allow:
        """A function, for one unit of work, that refuses schema changes the caller may not make."""

        def allow(
            current: Schema,
            old: "CompiledSchema",
            proposed: Schema,
            new: "CompiledSchema",
            steps: "Sequence[MigrationStep]",
        ) -> None:
            if self._access.is_unrestricted(caller):
                return
            _refuse_widening(self._access, caller, Pair(_NO_REGISTER, current, old), Pair(_NO_REGISTER, proposed, new))
            if not steps:
                return
            pairs = [
                Pair(register, current, old)
                for register in store.all_registers(rows)
                if current.id in register.schemas or store.has_objects(rows, register.id, current.id)
            ]
            _refuse_migration(self._access, caller, steps, pairs, store.organisations_of(rows, current.id))

        return allow


def _refuse_widening(access: AccessRules, caller: Caller, before: Pair, after: Pair) -> None:
    """Forbidden if the changed schema would reveal to its author what the old one hid."""
    _refuse_changed_readers(access, caller, before.schema, after.schema)
    hidden = access.hidden(caller, before)
    if not hidden:
        return
    old, new = before.definition, after.definition
    for name in sorted(hidden):
        if not _is_unchanged(name, old, new):
            raise _refused(f"You may not read {name!r}, so you may not change what the schema says of it.")
    if any(old.body.get(keyword) != new.body.get(keyword) for keyword in _ABOUT_WHOLE_OBJECTS):
        raise _refused(f"The change could ask about {_named(hidden)}, which you may not read.")
    has_pointers = "#/" in _text(old.properties[name].definition for name in hidden)
    if has_pointers and old.body["properties"] != _old_properties(new, old):
        raise _refused(f"The change also affects {_named(hidden)}, which you may not read.")
    for name, found in new.properties.items():
        if name not in hidden and (read := hidden.intersection(properties_read(found))):
            raise _refused(f"The property {name!r} is made from {_named(read)}, which you may not read.")
    for place, ours, theirs in _blocks(before, after):
        if _asks_anew(theirs, ours, hidden):
            raise _refused(f"{place} asks about {_named(hidden)}, which you may not read.")


def _refuse_migration(
    access: AccessRules,
    caller: Caller,
    steps: Sequence["MigrationStep"],
    pairs: Sequence[Pair],
    organisations: Collection[str],
) -> None:
    """Forbidden if steps touch properties or objects that the caller may not read and change.

    `pairs` are those in which the schema has or could have objects; `organisations` own these objects.
    """
    for pair in pairs:
        hidden = access.hidden(caller, pair)
        for name in sorted({name for step in steps for name in _touched(step)}):
            if name in hidden or not access.may_set(caller, pair, name):
                raise _refused(f"The migration changes {name!r}, which you may not read and change in every object.")
        if not (access.has_all(caller, pair, "read") and access.has_all(caller, pair, "update")):
            raise _refused("The migration changes objects that you may not read and change.")
    if set(organisations) - {access.organisation(caller)}:
        raise _refused("The migration changes objects that you may not read and change.")


def _refuse_changed_readers(
    access: AccessRules, caller: Caller, before: Register | Schema, after: Register | Schema
) -> None:
    if access.reads_all(caller, before) or _readers(before) == _readers(after):
        return
    kind = type(before).__name__.lower()
    raise _refused(f"You may not read everything in the {kind} {before.slug!r}, so you may not say who may.")


def _readers(entity: Register | Schema) -> Any:
    return as_object(entity.body.get("authorization")).get("read")


def _is_unchanged(name: str, old: "CompiledSchema", new: "CompiledSchema") -> bool:
    """Whether both schemas define the property with the same constraints."""
    known, found = old.properties[name], new.properties.get(name)
    return (
        found is not None
        and known.definition == found.definition
        and (name in old.required) == (name in new.required)
        and _unique(old, name) == _unique(new, name)
    )


def _unique(definition: "CompiledSchema", name: str) -> set[Any]:
    return {one.paths for one in definition.unique if any(path[0] == name for path in one.paths)}


def _old_properties(new: "CompiledSchema", old: "CompiledSchema") -> Mapping[str, Any]:
    """The properties of the old schema as the new one defines them."""
    return {name: value for name, value in new.body["properties"].items() if name in old.body["properties"]}


def _blocks(before: Pair, after: Pair) -> Iterator[tuple[str, Block, Block]]:
    """Each authorization block of a schema, before and after the change."""
    old, new = before.definition, after.definition
    yield "The schema's authorization", _block(before.schema, old), _block(after.schema, new)
    for name, found in new.properties.items():
        if found.authorization:
            known = old.properties.get(name)
            was = NOTHING if known is None else read_block(known.authorization, name, old, of_property=True)
            yield f"The authorization of {name!r}", was, read_block(found.authorization, name, new, of_property=True)


def _block(entity: Register | Schema, definition: "CompiledSchema") -> Block:
    return read_block(entity.body.get("authorization"), entity.slug, definition)


def _asks_anew(after: Block, before: Block, hidden: Collection[str]) -> bool:
    """Whether a new rule tests a hidden property: the access it grants would reveal the value."""

    def known(right: Grantable) -> Sequence[Any]:
        return before.grants.get(right, ())

    return any(
        grant.asks_about(hidden) and grant not in known(right)
        for right, given in after.grants.items()
        for grant in given
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
