"""What a change of a register or schema has to pass besides the right to define: where it belongs, and what it tells.

All of it happens inside the unit of work that makes the change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows
from pentad.rooms.registers import catalogue_store as store
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.catalogue_definitions import Definitions, composed, parent_of
from pentad.rooms.registers.catalogue_evolution import Allow
from pentad.rooms.registers.catalogue_refusals import chosen_slug
from pentad.rooms.registers.catalogue_store import Kind
from pentad.rooms.registers.definition_rights import refuse_migration, refuse_opening, refuse_widening
from pentad.rooms.registers.definitions.composition import unknown_parent
from pentad.rooms.registers.models import Caller, Pair, Register, Schema

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.migration import MigrationStep

E = TypeVar("E", Register, Schema)

_NOWHERE: Final = Register(0, "", "", "", "", {}, (), 0.0, 0.0)
"""Stands for the register where a schema is looked at by itself."""


class Defining:
    """Passes changes of the catalogue, or refuses them."""

    def __init__(self, access: AccessRules, definitions: Definitions) -> None:
        self._access = access
        self._definitions = definitions

    def placed(self, rows: Rows, caller: Caller, data: Mapping[str, Any], known: str) -> str:
        """Whose a register or schema is: administrators may say so, by the organisation's id or slug."""
        wanted = data.get("organisation")
        if not wanted or wanted == known or not self._access.is_free(caller):
            return known
        found = store.organisation_named(rows, wanted) if isinstance(wanted, str) else None
        if found is None:
            raise InvalidInput(f"There is no organisation {str(wanted)[:80]!r}.", hint="Give its id or its slug.")
        return found

    def moved(self, rows: Rows, caller: Caller, kind: Kind, wanted: E, current: E, data: Mapping[str, Any]) -> E:
        """What is wanted under the slug and in the organisation that are asked for."""
        organisation = self.placed(rows, caller, data, current.organisation)
        seen = partial(self._access.sees, caller)
        slug = chosen_slug(rows, kind, data, current.title, organisation, seen, current)
        return replace(wanted, slug=slug, body={**wanted.body, "organisation": organisation})

    def refuse_unseen(self, rows: Rows, caller: Caller, wanted: Schema, known: Iterable[tuple[str, int | str]]) -> None:
        """A schema its author may not know of is none to build upon, unless it was built upon already."""
        before = list(known)
        for keyword, ref in composed(wanted):
            found = parent_of(rows, ref, wanted.organisation)
            if found is not None and (keyword, ref) not in before and not self._access.sees(caller, found):
                raise unknown_parent(keyword, ref)

    def refuse_opening(self, rows: Rows, caller: Caller, current: Register, wanted: Register) -> None:
        if self._access.is_free(caller):
            return
        schemas = [found for key in wanted.schemas if (found := store.find_schema(rows, key)) is not None]
        pairs = (Pair(wanted, one, self._definitions.of(rows, one)) for one in schemas)
        refuse_opening(self._access, caller, current, wanted, pairs)

    def allowing(self, rows: Rows, caller: Caller) -> Allow:
        """What refuses changes of schemas, within one unit of work, that are not the caller's to make."""

        def allow(
            current: Schema,
            old: "CompiledSchema",
            wanted: Schema,
            new: "CompiledSchema",
            steps: "Sequence[MigrationStep]",
        ) -> None:
            refuse_widening(self._access, caller, Pair(_NOWHERE, current, old), Pair(_NOWHERE, wanted, new))
            if not steps or self._access.is_free(caller):
                return
            pairs = [
                Pair(register, current, old)
                for register in store.all_registers(rows)
                if current.id in register.schemas or store.has_objects(rows, register.id, current.id)
            ]
            refuse_migration(self._access, caller, steps, pairs, store.organisations_of(rows, current.id))

        return allow
