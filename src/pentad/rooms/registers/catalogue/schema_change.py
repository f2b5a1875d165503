"""Changes of schemas, and what depends on a schema."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.registers.catalogue import schema_history
from pentad.rooms.registers.confirmation import confirm_token
from pentad.rooms.registers.models import Caller, Schema, StoredObject
from pentad.rooms.registers.objects.indexes import IndexPlan, index_plan

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
    from pentad.rooms.registers.definitions.expressions import Renames
    from pentad.rooms.registers.definitions.migration import MigrationStep

Hidden = Callable[[StoredObject], frozenset[str] | None] | None
"""Returns the properties of an object a report must not mention, or None to leave the object out; None for no limit."""
Allow = Callable[[Schema, "CompiledSchema", Schema, "CompiledSchema", "Sequence[MigrationStep]"], None]
"""Refuses a schema change and its migration if the caller may not make it."""
Breaks = Callable[[Rows, Caller, "SchemaChange", "CompiledSchema", "CompiledSchema"], Iterable[Mapping[str, Any]]]
"""Finds what depends on a schema and would break with the new definition, as far as the caller may see it."""
Follows = Callable[[Rows, Caller, "SchemaChange"], Iterable[Mapping[str, Any]]]
"""Finds what would be updated after renames, as far as the caller may see it."""
Follow = Callable[[Transaction, Caller, "SchemaChange"], None]
"""Updates everything that names renamed properties, in the transaction that changes the schema."""


@dataclass(slots=True)
class SchemaUsers:
    """What depends on schemas. A plan asks what would break or follow; a change makes names follow."""

    breaks: list[Breaks] = field(default_factory=list[Breaks])
    follows: list[Follows] = field(default_factory=list[Follows])
    follow: list[Follow] = field(default_factory=list[Follow])


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A change of a schema: the definition before and after, and what happens to its objects.

    `SchemaEvolution` carries it out. An `undo` takes values from the history of the objects besides running the steps.
    """

    current: Schema
    proposed: Schema
    steps: "Sequence[MigrationStep]" = ()
    action: schema_history.Action = "update"
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    undo: schema_history.Undo | None = None
    warnings: tuple[dict[str, Any], ...] = ()

    @property
    def migrates(self) -> bool:
        return bool(self.steps or (self.undo is not None and self.undo.names))

    @property
    def renames(self) -> "Renames":
        """The new paths of renamed properties by those they had before the change."""
        if not self.steps:
            return {}
        from pentad.rooms.registers.definitions.renames import renames_of

        return renames_of(self.steps)

    @property
    def is_rename(self) -> bool:
        """Whether names used elsewhere change: property names or the schema's slug."""
        return bool(self.current.slug != self.proposed.slug or self.renames)

    @property
    def touched(self) -> "list[MigrationStep]":
        """Steps that name every property the change may write, for access checks."""
        from pentad.rooms.registers.definitions.migration import MigrationStep

        restored = () if self.undo is None else sorted(self.undo.names)
        return [*self.steps, *(MigrationStep("drop", name) for name in restored)]

    @property
    def token(self) -> str:
        """The token that confirms exactly this change of exactly this version."""
        proposed = self.proposed
        body = {name: value for name, value in proposed.body.items() if value != self.current.body.get(name)}
        gone = sorted(name for name in self.current.body if name not in proposed.body)
        steps = [step.as_json() for step in self.steps]
        order = schema_history.reordered(self.current, proposed)
        return confirm_token(
            self.current.id, self.current.changes, proposed.slug, proposed.title, body, gone, order, steps, self.action
        )

    def migrate(self, rows: Rows, stored: StoredObject, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data of an object after the change."""
        from pentad.rooms.registers.definitions.migration import migrate

        if self.undo is not None:
            return self.undo.migrate(rows, stored, data)
        return migrate(data, self.steps) if self.steps else dict(data)


@dataclass(slots=True)
class Skipped:
    """What the check of stored objects had to skip: whole objects, or properties of the others."""

    objects: bool = False
    properties: frozenset[str] = frozenset()

    def may_matter(self, old: "CompiledSchema", new: "CompiledSchema") -> bool:
        """Whether the change could affect what was skipped; with soft validation only indexes matter."""
        from pentad.rooms.registers.definitions.evolution import cannot_affect

        if not self.objects and not self.properties:
            return False
        if new.soft:
            return index_plan(old) != index_plan(new)
        return not cannot_affect(old, new, None if self.objects else self.properties)


@dataclass(frozen=True, slots=True)
class CheckedChange:
    """A change that fitted all objects stored up to some moment."""

    current: Schema
    proposed: Schema
    indexes: IndexPlan | None
    """The indexes to create before the change; None if there are none, or if objects have to be migrated first."""
    since: int
    """Objects that changed after this moment have to be checked again (`store.present_moment`)."""
    skipped: Skipped
    discreet: bool
    """Whether errors must not name objects because the caller may not see all of them."""


def past_rules(current: Schema, old: "CompiledSchema", new: "CompiledSchema") -> dict[str, Mapping[str, Any]]:
    """Who may read the properties that objects had in the past and the new definition does not declare.

    A rule with conditions grants nothing here, because the properties it compares may be gone too.
    """
    kept = {**current.past_rules, **{name: {"read": ["admin"]} for name in old.derived}}
    for name, found in old.properties.items():
        if found.authorization and "read" in found.authorization:
            groups = [one for one in found.authorization["read"] if isinstance(one, str)]
            kept[name] = {"read": groups or ["admin"]}
    return {name: rule for name, rule in kept.items() if name not in new.properties}
