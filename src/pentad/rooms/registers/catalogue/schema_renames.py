"""Updates the places outside a schema that name it or its properties, in the transaction that renames them.

In other schemas these are `inversedBy`, slugs in `$ref` or in compositions, and everything that schemas composed of the
renamed one say about its properties; objects of composed schemas are migrated too. In registers these are the
conditions of access rules. A register's rule applies to all its schemas: if another one has a property with the old or
new name, the meaning would be ambiguous, so the rename is refused.

Names are updated everywhere, even where the caller has no right to define, because the meaning stays the same.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.errors import Conflict
from pentad.kernel.json_patch import copied
from pentad.kernel.json_values import as_list, as_object
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers import store
from pentad.rooms.registers.catalogue import schema_history
from pentad.rooms.registers.catalogue.compiled_schemas import composed, dependents_of, parent_of, target
from pentad.rooms.registers.catalogue.schema_change import SchemaChange
from pentad.rooms.registers.definitions.references import stored_reference
from pentad.rooms.registers.models import Caller, Register, Schema
from pentad.rooms.registers.schema_locks import lock_schemas

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.catalogue.changes import CatalogueChanges
    from pentad.rooms.registers.catalogue.pairs import Pairs

_COMPOSITIONS: Final = ("allOf", "anyOf", "oneOf")
_PLAIN_VALUES: Final = frozenset({"default", "enum", "const", "examples", "example"})
"""Keywords whose values are data and not schemas."""

Means = Callable[[Any], bool]
"""Whether a `$ref` means the changed schema."""


class SchemaRenames:
    """Updates schemas and registers after renames in another schema."""

    def __init__(self, database: Database, access: "AccessRules", pairs: "Pairs", changes: "CatalogueChanges") -> None:
        self._database = database
        self._access = access
        self._pairs = pairs
        self._changes = changes

    def with_own_references(self, rows: Rows, change: SchemaChange) -> SchemaChange:
        """The change, with the schema's references to itself renamed."""
        if not change.is_rename:
            return change
        proposed = change.proposed
        body = _renamed_body(rows, proposed, change)
        return change if body == proposed.body else replace(change, proposed=replace(proposed, body=body))

    def refuse_ambiguous(self, rows: Rows, caller: Caller, change: SchemaChange) -> None:
        """Raise Conflict if a register's access rules cannot be updated."""
        for register, _, clashing in self._registers(rows, change):
            if not clashing:
                continue
            if not self._access.sees(caller, register):
                raise Conflict("The access rules of a register prevent the rename.", hint="Ask an administrator.")
            names = ", ".join(repr(one.slug) for one in clashing if self._access.sees(caller, one))
            others = f"other schemas of it ({names})" if names else "other schemas of it"
            raise Conflict(
                f"The access rules of register {register.slug!r} ask about the renamed property, and {others} have a"
                " property of the old or the new name.",
                hint="Change the rules of the register first, or choose another name.",
                details={"rule": "rename", "register": register.id},
            )

    def follows(self, rows: Rows, caller: Caller, change: SchemaChange) -> Iterator[dict[str, Any]]:
        """The schemas and registers to be updated that the caller may see."""
        if not change.is_rename:
            return
        following = [*(schema for schema, _ in self._schemas(rows, change)), *_migrated_dependents(rows, change)]
        for schema in {one.id: one for one in following}.values():
            if self._access.sees(caller, schema):
                yield {"kind": "schema", "id": schema.id, "title": schema.title}
        for register, _, _ in self._registers(rows, change):
            if self._access.sees(caller, register):
                yield {"kind": "register", "id": register.id, "title": register.title}

    def follow(self, tx: Transaction, caller: Caller, change: SchemaChange) -> None:
        """Rewrite the other schemas and the registers, before names change their meaning."""
        if not change.is_rename:
            return
        now = change.proposed.updated_at
        for schema, body in list(self._schemas(tx, change)):
            lock_schemas(tx, self._database.dialect, [schema.id])
            updated = max(now, schema.updated_at)
            changed = replace(schema, body=body, changes=schema.changes + 1, updated_at=updated)
            store.update_schema(tx, changed)
            schema_history.record(tx, caller, schema, changed, "parent", {})
            self._changes.announce_change(tx, changed, schema)
        if not any(self._registers(tx, change)):
            return
        store.lock_registers(tx, self._database.dialect)
        self.refuse_ambiguous(tx, caller, change)
        for register, body, _ in list(self._registers(tx, change)):
            version, updated = store.next_version(register.version), max(now, register.updated_at)
            changed = replace(register, body=body, version=version, updated_at=updated)
            store.update_register(tx, changed)
            self._changes.announce_change(tx, changed, register)

    def _schemas(self, rows: Rows, change: SchemaChange) -> Iterator[tuple[Schema, dict[str, Any]]]:
        """The other schemas that use a name the changed schema loses, each with its new body."""
        for schema in store.all_schemas(rows):
            if schema.id != change.current.id and (body := _renamed_body(rows, schema, change)) != schema.body:
                yield schema, body

    def _registers(self, rows: Rows, change: SchemaChange) -> Iterator[tuple[Register, dict[str, Any], list[Schema]]]:
        """The registers whose access rules name a renamed property: each with its new body, and with the schemas that
        make the new rules mean something else.
        """
        from pentad.rooms.registers.definitions.renames import rename_in_authorization

        renames = change.renames
        names = {path[0] for pair in renames.items() for path in pair}
        for register in store.all_registers(rows) if renames else ():
            if change.current.id not in register.schemas:
                continue
            rules = register.body.get("authorization")
            if (renamed := rename_in_authorization(rules, renames)) == rules:
                continue
            clashing = [
                schema
                for key in register.schemas
                if key != change.current.id
                and (schema := store.find_schema(rows, key)) is not None
                and not names.isdisjoint(self._pairs.definitions.of(rows, schema).properties)
            ]
            yield register, {**register.body, "authorization": renamed}, clashing


def dependent_change(rows: Rows, dependent: Schema, change: SchemaChange) -> SchemaChange:
    """The change of a schema composed of the changed one: it takes over renames of what it inherits."""
    from pentad.rooms.registers.definitions.migration import step_path
    from pentad.rooms.registers.definitions.renames import rename_in_body, rename_required, renames_of

    steps = [
        step
        for step in change.steps
        if step.kind == "rename" and not _declares(rows, dependent, step_path(step)[0], change.current.id)
    ]
    if not steps:
        return SchemaChange(dependent, dependent, action="parent")
    body, renames = copied(dependent.body), renames_of(steps)
    rename_in_body(body, renames)
    rename_required(body, renames)
    details = {"migration": [step.as_json() for step in steps]}
    return SchemaChange(dependent, replace(dependent, body=body), steps, "parent", details)


def _migrated_dependents(rows: Rows, change: SchemaChange) -> list[Schema]:
    return [one for one in dependents_of(rows, change.current) if dependent_change(rows, one, change).steps]


def _declares(rows: Rows, schema: Schema, name: str, changed: int) -> bool:
    """Whether a schema declares a property, itself or through a parent other than the changed one."""
    if schema.id == changed:
        return False
    if name in as_object(schema.body.get("properties")):
        return True
    parents = (parent_of(rows, ref, schema.organisation) for _, ref in composed(schema))
    return any(_declares(rows, parent, name, changed) for parent in parents if parent is not None)


def _renamed_body(rows: Rows, schema: Schema, change: SchemaChange) -> dict[str, Any]:
    """The body of a schema with its references to the changed one renamed."""

    def means(find: Callable[[Rows, int | str, str], Schema | None], value: Any) -> bool:
        ref = stored_reference(value)
        found = None if ref is None else find(rows, ref, schema.organisation)
        return found is not None and found.id == change.current.id

    slugs = (change.current.slug, change.proposed.slug)
    names = {old[0]: new[0] for old, new in change.renames.items() if len(old) == 1}
    body = cast("dict[str, Any]", _renamed_references(schema.body, partial(means, target), names, slugs))
    for keyword in _COMPOSITIONS:
        if entries := as_list(schema.body.get(keyword)):
            body[keyword] = [_renamed_entry(entry, partial(means, parent_of), slugs) for entry in entries]
    return body


def _renamed_references(node: Any, means: Means, names: Mapping[str, str], slugs: tuple[str, str]) -> Any:
    if isinstance(node, list):
        return [_renamed_references(one, means, names, slugs) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {
        name: value if name in _PLAIN_VALUES else _renamed_references(value, means, names, slugs)
        for name, value in cast("dict[str, Any]", node).items()
    }
    back, items = result.get("inversedBy"), as_object(as_object(node).get("items"))
    new = names.get(back) if isinstance(back, str) else None
    if new is not None and (means(result.get("$ref")) or means(items.get("$ref"))):
        result["inversedBy"] = new
    return _renamed_entry(result, means, slugs)


def _renamed_entry(entry: Any, means: Means, slugs: tuple[str, str]) -> Any:
    """A reference to a schema: bare, as in a composition, or as an object with a `$ref`."""
    old, new = slugs
    if isinstance(entry, dict):
        node = cast("dict[str, Any]", entry)
        return {**node, "$ref": _renamed_entry(node["$ref"], means, slugs)} if "$ref" in node else node
    if old == new or not isinstance(entry, str) or not means(entry):
        return entry
    bare = entry.rstrip("/")
    return bare[: -len(old)] + new if bare.rpartition("/")[2].lower() == old.lower() else entry
