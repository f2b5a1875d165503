"""Schema patches: lists of operations on the properties of a schema, which include the data migration.

`add`, `change`, `rename` and `drop` name a property, or a JSON pointer to a nested one (`/address/city`); `reorder`
lists names. The result is the changed body and the steps that migrate stored objects. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import copied, merge_patch
from pentad.kernel.json_pointer import split_pointer
from pentad.kernel.json_values import as_list, as_object
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.definitions.json_schema import types_of
from pentad.rooms.registers.definitions.migration import CASTS, MigrationStep, read_steps, step_path
from pentad.rooms.registers.definitions.renames import rename_in_body, renames_of

MOST_OPERATIONS: Final = 500
_MEMBERS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "add": (frozenset({"property", "definition"}), frozenset({"required", "value", "after"})),
    "change": (frozenset({"property"}), frozenset({"definition", "required", "value", "values"})),
    "rename": (frozenset({"property", "to"}), frozenset()),
    "drop": (frozenset({"property"}), frozenset()),
    "reorder": (frozenset({"properties"}), frozenset()),
}
"""The required and optional members of each operation."""
_EXAMPLE: Final = 'For example {"op": "add", "property": "due", "definition": {"type": "string", "format": "date"}}.'


@dataclass(slots=True)
class SchemaPatch:
    """The body after all operations, and the steps that migrate the objects."""

    body: dict[str, Any]
    steps: list[MigrationStep] = field(default_factory=list[MigrationStep])


def apply_operations(body: Mapping[str, Any], operations: Sequence[Any]) -> SchemaPatch:
    """Apply the operations in order to a copy; InvalidInput names the first one that fails."""
    if not operations or len(operations) > MOST_OPERATIONS:
        raise InvalidInput(f"A schema patch has 1 to {MOST_OPERATIONS} operations.", hint=_EXAMPLE)
    result = SchemaPatch(copied(dict(body)))
    for number, entry in enumerate(operations):
        _Operation(result, as_object(entry), number).run()
    return result


class _Operation:
    """One operation on the patch so far."""

    def __init__(self, patch: SchemaPatch, entry: Mapping[str, Any], number: int) -> None:
        self._patch = patch
        self._entry = entry
        self._number = number
        self._name = ""
        self._owner: dict[str, Any] = patch.body

    def run(self) -> None:
        kind = self._entry.get("op")
        if not isinstance(kind, str) or kind not in _MEMBERS:
            guess = did_you_mean(str(kind), _MEMBERS) or f"Operations are {', '.join(_MEMBERS)}."
            raise self._error(f"has no known op. {guess}")
        needed, more = _MEMBERS[kind]
        for name in sorted(needed - self._entry.keys()):
            raise self._error(f"({kind}) needs {name!r}")
        for name in sorted(self._entry.keys() - needed - more - {"op"}):
            raise self._error(
                f"({kind}) has no member {name[:80]!r}. {did_you_mean(name, needed | more) or ''}".strip()
            )
        if kind != "reorder":
            self._find_owner()
        getattr(self, f"_{kind}")()

    def _add(self) -> None:
        properties = self._properties()
        if self._name in properties:
            raise self._error(f"adds {self._name!r}, which exists already; use change")
        properties[self._name] = copied(self._definition())
        self._place(properties, self._entry.get("after"))
        self._require()
        value = self._entry.get("value", as_object(properties[self._name]).get("default"))
        if "value" in self._entry or (self._entry.get("required") is True and _is_plain(value)):
            self._step("default", value=value)

    def _change(self) -> None:
        properties = self._properties()
        self._known(properties)
        old = as_object(properties[self._name])
        if "definition" in self._entry:
            properties[self._name] = merge_patch(old, self._definition())
        self._require()
        new = as_object(properties[self._name])
        if "values" in self._entry:
            self._step("enum_map", values=self._entry["values"])
        kinds = [kind for kind in types_of(new) if kind != "null"]
        if types_of(old) != types_of(new) and len(kinds) == 1 and kinds[0] in CASTS:
            self._step("cast", to=kinds[0])
        if "value" in self._entry:
            self._step("default", value=self._entry["value"])

    def _rename(self) -> None:
        properties, to = self._properties(), self._entry["to"]
        self._known(properties)
        if not isinstance(to, str) or not to:
            raise self._error("(rename) needs a name as 'to'")
        if to in properties:
            raise self._error(f"renames to {to[:80]!r}, which exists already")
        self._owner["properties"] = {to if name == self._name else name: one for name, one in properties.items()}
        names = as_list(self._owner.get("required"))
        if self._name in names:
            self._owner["required"] = [to if name == self._name else name for name in names]
        self._step("rename", to=to)
        rename_in_body(self._patch.body, renames_of(self._patch.steps[-1:]))

    def _drop(self) -> None:
        properties = self._properties()
        self._known(properties)
        del properties[self._name]
        self._set_required(False)
        self._step("drop")

    def _reorder(self) -> None:
        properties = self._properties()
        order = as_list(self._entry["properties"])
        if not order or not all(isinstance(name, str) for name in order) or len(set(order)) != len(order):
            raise self._error("(reorder) needs 'properties': a list of different names, in the order they should have")
        for self._name in cast("list[str]", order):
            self._known(properties)
        self._owner["properties"] = {name: properties[name] for name in dict.fromkeys([*order, *properties])}

    # parts

    def _find_owner(self) -> None:
        """The object schema that has the property: the root, or the one a pointer leads to."""
        given = self._entry["property"]
        if not isinstance(given, str) or not given:
            raise self._error("needs 'property': a name, or a JSON pointer such as /address/city")
        *parents, self._name = split_pointer(given) if given.startswith("/") else (given,)
        for parent in parents:
            properties = self._properties()
            if not isinstance(properties.get(parent), dict):
                raise self._error(f"leads through {parent[:80]!r}, which is not a property here")
            self._owner = properties[parent]

    def _properties(self) -> dict[str, Any]:
        found = self._owner.get("properties")
        if not isinstance(found, dict):
            found = self._owner["properties"] = dict[str, Any]()
        return cast("dict[str, Any]", found)

    def _known(self, properties: Mapping[str, Any]) -> None:
        if self._name not in properties:
            guess = did_you_mean(self._name, properties) or "The schema lists its properties."
            raise self._error(f"is about {self._name[:80]!r}, which is not a property. {guess}")

    def _definition(self) -> Any:
        definition = self._entry["definition"]
        if not isinstance(definition, dict):
            raise self._error("needs 'definition': the JSON Schema of the property")
        return cast("dict[str, Any]", definition)

    def _place(self, properties: dict[str, Any], after: Any) -> None:
        if after is None:
            return
        if after not in properties or after == self._name:
            raise self._error(f"goes after {str(after)[:80]!r}, which is not a property")
        names = [name for name in properties if name != self._name]
        names.insert(names.index(after) + 1, self._name)
        self._owner["properties"] = {name: properties[name] for name in names}

    def _require(self) -> None:
        required = self._entry.get("required")
        if required is None:
            return
        if not isinstance(required, bool):
            raise self._error("has a 'required' that is neither true nor false")
        self._set_required(required)

    def _set_required(self, required: bool) -> None:
        names = [name for name in as_list(self._owner.get("required")) if name != self._name]
        self._owner["required"] = [*names, self._name] if required else names
        definition = self._properties().get(self._name)
        if isinstance(definition, dict) and isinstance(cast("dict[str, Any]", definition).get("required"), bool):
            del definition["required"]  # it would state the same thing twice

    def _step(self, kind: str, **members: Any) -> None:
        entry = {"step": kind, "property": self._entry["property"], **members}
        self._patch.steps.extend(read_steps([entry]))

    def _error(self, what: str) -> InvalidInput:
        problem = {"path": f"/operations/{self._number}", "rule": "operation", "message": what}
        end = "" if what.endswith((".", "?")) else "."
        return InvalidInput(
            f"Operation {self._number} of the schema patch {what}{end}", hint=_EXAMPLE, details={"problems": [problem]}
        )


def _is_plain(value: Any) -> bool:
    """Whether a default is a plain value rather than a template, which is evaluated for each object."""
    return value is not None and not (isinstance(value, str) and "{{" in value)


def touched_names(steps: Sequence[MigrationStep]) -> Iterator[str]:
    """The top-level properties that steps read or write."""
    for step in steps:
        path = step_path(step)
        yield path[0]
        if step.kind == "rename" and len(path) == 1:
            yield step.to


def renames(steps: Sequence[MigrationStep]) -> dict[str, str]:
    """The new names of top-level properties after any number of renames."""
    return {old[0]: new[0] for old, new in renames_of(steps).items() if len(old) == 1}
