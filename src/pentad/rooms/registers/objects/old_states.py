"""Converts old states of objects to today's form by applying all later migrations of their schema.

A state belongs to the definition in effect when it was written. Nobody writes a schema's objects while the schema
changes, so change numbers show what came first; if a schema change migrated no object, its time is used.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.json_pointer import pointer
from pentad.kernel.ports import Rows
from pentad.rooms.registers.catalogue import schema_history
from pentad.rooms.registers.definitions.expressions import renamed_path
from pentad.rooms.registers.definitions.migration import MigrationStep, migrate, removed_path, step_path
from pentad.rooms.registers.definitions.object_validation import json_text
from pentad.rooms.registers.models import StoredObject
from pentad.rooms.registers.objects import change_log

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

Path = tuple[str, ...]
_CONVERTS: Final = ("cast", "enum_map")


@dataclass(frozen=True, slots=True)
class _Migration:
    """What one change of a schema did to its objects."""

    version: int
    at: float
    plan: str
    number: int | None
    """The number of one of its changes to objects; None if there are none."""
    steps: list[MigrationStep]
    undoes: int | None
    restored: tuple[str, ...]
    """Properties that objects got back from their history."""


class OldStates:
    """Migrates old states within one unit of work."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known: dict[int, list[_Migration]] = {}

    def migrated(self, definition: "CompiledSchema", past: StoredObject) -> StoredObject:
        """A past state in today's form; its `warnings` name what was lost.

        `past` has the state's version and time. A value a migration could not convert is left out if it does not fit
        the schema.
        """
        later = self._later(past)
        if not later:
            return past
        data, unsure, warnings = past.data, list[Path](), list[dict[str, Any]]()
        for one in later:
            for step in one.steps:
                if (lost := removed_path(data, step)) is not None:
                    warnings.append(_warning(lost, f"was removed or replaced by version {one.version} of the schema"))
                data = migrate(data, [step])
                path = step_path(step)
                if step.kind == "rename":
                    unsure = [renamed_path(other, {path: (*path[:-1], step.to)}) for other in unsure]
                elif step.kind in _CONVERTS:
                    unsure.append(path)
            unsure += [(name,) for name in one.restored]
        if unsure and not definition.soft and not definition.is_valid(data):
            data = deepcopy(data)
            misfits = [problem.where for problem in definition.problems(data, brief=True)]
            for path in dict.fromkeys(unsure):
                if any(where[: len(path)] == path for where in misfits) and _remove(data, path):
                    warnings.append(_warning(path, "does not fit the schema any more"))
        text = json_text(data)[0]
        return past if text == past.text else past.altered(text=text, known_data=data, warnings=tuple(warnings))

    def _later(self, past: StoredObject) -> list[_Migration]:
        """The migrations after a state, except those undone since."""
        if not (known := self._migrations(past.schema)):
            return []
        origin = change_log.origin_of(self._rows, past.uuid, past.version)

        def is_later(one: _Migration) -> bool:
            if origin is None or one.number is None:
                return one.at >= past.updated_at  # in the same millisecond: running most steps twice does no harm
            return one.plan != origin[1] and one.number > origin[0]

        later = {one.version: one for one in known if is_later(one)}
        for one in reversed(known):
            if one.version in later and one.undoes in later:
                del later[one.version], later[one.undoes]
        return list(later.values())

    def _migrations(self, schema: int) -> list[_Migration]:
        if schema not in self._known:
            self._known[schema] = [
                self._migration(schema, one) for one in schema_history.migrations(self._rows, schema)
            ]
        return self._known[schema]

    def _migration(self, schema: int, change: schema_history.SchemaVersion) -> _Migration:
        plan = schema_history.plan_of(schema, change.version)
        number = change_log.number_in_plan(self._rows, plan)
        restored = tuple(change.details.get("restored") or ())
        undoes = change.details.get("undoes")
        return _Migration(change.version, change.at, plan, number, change.steps, undoes, restored)


def _warning(path: Path, why: str) -> dict[str, Any]:
    return {"path": pointer(path), "rule": "migration", "message": f"{why}; its old value was not restored."}


def _remove(data: dict[str, Any], path: Path) -> bool:
    """Remove the value at a path; False if there is none."""
    owner: Any = data
    for part in path[:-1]:
        owner = cast("dict[str, Any]", owner).get(part) if isinstance(owner, dict) else None
    return isinstance(owner, dict) and cast("dict[str, Any]", owner).pop(path[-1], owner) is not owner
