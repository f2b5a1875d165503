"""Migration steps that adapt stored objects to a changed schema. A preflight suggests them, a person confirms them.

A step names a property, or a JSON pointer to a nested one. Steps are pure and touch only what they name. A value that
cannot be cast without loss stays as it is; validation then reports it.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import same_json
from pentad.kernel.json_pointer import split_pointer
from pentad.kernel.json_values import as_object
from pentad.kernel.problems import NO_VALUE, convert_value

StepKind = Literal["rename", "default", "cast", "drop", "enum_map"]
_NEEDS: Final[dict[StepKind, str | None]] = {
    "rename": "to",
    "default": "value",
    "cast": "to",
    "drop": None,
    "enum_map": "values",
}
CASTS: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
"""The types a value can be cast to."""


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """One change to every object: `to` is a name (rename) or a type (cast); `values` maps old to new (enum_map)."""

    kind: StepKind
    property: str
    to: str = ""
    value: Any = None
    values: tuple[tuple[Any, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"step": self.kind, "property": self.property}
        if self.to:
            body["to"] = self.to
        if self.kind == "default":
            body["value"] = self.value
        if self.kind == "enum_map":
            body["values"] = [list(pair) for pair in self.values]
        return body


def read_steps(given: Sequence[Any]) -> list[MigrationStep]:
    """Read the steps a caller sent; InvalidInput names the first invalid one."""
    return [_read_step(as_object(entry), number) for number, entry in enumerate(given)]


def migrate(data: Mapping[str, Any], steps: Sequence[MigrationStep]) -> dict[str, Any]:
    """The object after all steps; does not modify the given one."""
    result = deepcopy(dict(data))
    for step in steps:
        _apply(result, step)
    return result


def changing_steps(data: Mapping[str, Any], steps: Sequence[MigrationStep]) -> list[int]:
    """The positions of the steps that change the object."""
    result = deepcopy(dict(data))
    return [place for place, step in enumerate(steps) if _apply(result, step)]


def step_path(step: MigrationStep) -> tuple[str, ...]:
    """The path of the property a step names."""
    return split_pointer(step.property) if step.property.startswith("/") else (step.property,)


def removed_path(data: Mapping[str, Any], step: MigrationStep) -> tuple[str, ...] | None:
    """The path of the value a step would remove from an object; None if it removes none."""
    path = step_path(step)
    holder = _holder(data, path)
    if holder is None or path[-1] not in holder:
        return None
    if step.kind == "rename":
        return (*path[:-1], step.to) if step.to in holder and step.to != path[-1] else None
    return path if step.kind == "drop" else None


def _holder(data: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any] | None:
    """The object in the data that contains, or would contain, the property at a path."""
    owner: Any = data
    for part in path[:-1]:
        owner = cast("dict[str, Any]", owner).get(part) if isinstance(owner, dict) else None
    return cast("dict[str, Any]", owner) if isinstance(owner, dict) else None


def _read_step(entry: Mapping[str, Any], number: int) -> MigrationStep:
    kind, name = entry.get("step"), entry.get("property")
    if kind not in _NEEDS or not isinstance(name, str) or not name:
        raise _step_error(number, f"needs a property and one of the steps {', '.join(_NEEDS)}")
    step: StepKind = kind
    needed = _NEEDS[step]
    if needed is not None and needed not in entry:
        raise _step_error(number, f"({step}) needs {needed!r}")
    to = entry.get("to", "")
    if not isinstance(to, str) or (step == "cast" and to not in CASTS) or (step == "rename" and not to):
        raise _step_error(number, f"({step}) has a 'to' that is not a {'type' if step == 'cast' else 'name'}")
    return MigrationStep(
        step, name, to, entry.get("value"), _pairs(entry.get("values"), number) if step == "enum_map" else ()
    )


def _pairs(values: Any, number: int) -> tuple[tuple[Any, Any], ...]:
    """A mapping from old text to new value, or a list of pairs if old values are not text."""
    if isinstance(values, Mapping):
        return tuple(cast("Mapping[str, Any]", values).items())
    if isinstance(values, list):
        pairs = cast("list[Any]", values)
        if all(isinstance(pair, list) and len(cast("list[Any]", pair)) == 2 for pair in pairs):
            return tuple((pair[0], pair[1]) for pair in pairs)
    raise _step_error(number, "(enum_map) needs 'values': an object, or a list of pairs")


def _step_error(number: int, what: str) -> InvalidInput:
    return InvalidInput(
        f"Step {number} of the migration {what}.",
        hint='For example {"step": "rename", "property": "name", "to": "title"}.',
        details={"problems": [{"path": f"/{number}", "rule": "migration", "message": what}]},
    )


def _apply(data: dict[str, Any], step: MigrationStep) -> bool:
    """Carry out a step; returns whether it changed anything."""
    path = step_path(step)
    holder, name = _holder(data, path), path[-1]
    if holder is None or (holder.get(name) is not None if step.kind == "default" else name not in holder):
        return False
    before = holder.get(name)
    if step.kind == "drop":
        del holder[name]
        return True
    if step.kind == "rename":
        holder[step.to] = holder.pop(name)
        return True
    if step.kind == "default":
        holder[name] = deepcopy(step.value)
    elif step.kind == "cast":
        if (value := convert_value(before, step.to)) is not NO_VALUE:
            holder[name] = value
    else:
        holder[name] = next((new for old, new in step.values if type(old) is type(before) and old == before), before)
    return not same_json(holder[name], before)
