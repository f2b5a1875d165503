"""Checks a changed schema against the stored objects: how many would fail, why, and which migration would fix them.

A migration step is suggested only if, tried on failing objects, it fixes more than it breaks. Nothing here changes a
stored object.

`cannot_affect` judges by the definitions alone whether a change can matter to data its author may not read. Trying the
change on hidden values would reveal them: an author could narrow a bound step by step and watch when it is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from pentad.kernel.names import nearest
from pentad.kernel.problems import NO_VALUE, closest_value, convert_value
from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
from pentad.rooms.registers.definitions.migration import MigrationStep, migrate
from pentad.rooms.registers.definitions.object_validation import Problem

SAMPLES: Final = 5
_INCOMPLETE: Final = "Objects and properties that you may not read were not looked at."
_MOST_EXPLAINED: Final = 200
_MOST_TRIED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """An object that would fail: its position among the checked ones, and the problem."""

    index: int
    problem: Problem

    def as_json(self) -> dict[str, Any]:
        return {"index": self.index, **self.problem.as_json()}


@dataclass(slots=True)
class EvolutionReport:
    """What a schema change would do.

    `after_migration` counts the objects that fail even after the suggested steps. Only the first ten thousand failing
    objects are tried; the others count as failing. The report is `complete` for administrators only. For everyone else
    it covers what they may read and says so, whether or not there is more.
    """

    total: int = 0
    failing: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])
    samples: dict[str, list[Sample]] = field(default_factory=dict[str, list[Sample]])
    migration: list[MigrationStep] = field(default_factory=list[MigrationStep])
    after_migration: int = 0
    complete: bool = True

    def as_json(self) -> dict[str, Any]:
        why = {} if self.complete else {"reason": _INCOMPLETE}
        return {
            "total": self.total,
            "failing": self.failing,
            "counts": dict(self.counts.most_common()),
            "samples": {kind: [sample.as_json() for sample in found] for kind, found in self.samples.items()},
            "migration": [step.as_json() for step in self.migration],
            "failing_after_migration": self.after_migration,
            "complete": self.complete,
            **why,
        }


@dataclass(frozen=True, slots=True)
class ReadableObject:
    """An object to check, without the properties that are `hidden` from the caller."""

    data: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()

    def problems(self, new: CompiledSchema, steps: Sequence[MigrationStep] = ()) -> list[Problem]:
        """Its problems after some steps, except for the hidden properties it seems to lack."""
        data = migrate(self.data, steps) if steps else self.data
        if new.is_valid(data):
            return []
        found = new.problems(data)
        return [one for one in found if not self.hidden or (one.where and one.where[0] not in self.hidden)]


def preflight(new: CompiledSchema, objects: Iterable[ReadableObject]) -> EvolutionReport:
    """Check every object once. Objects hold only what the caller may read, so only that is tried and counted."""
    report = EvolutionReport()
    explained: list[tuple[Mapping[str, Any], list[Problem]]] = []
    failing: list[ReadableObject] = []
    for index, checked in enumerate(objects):
        report.total += 1
        if new.is_valid(checked.data):
            continue
        problems = checked.problems(new) if checked.hidden or len(explained) < _MOST_EXPLAINED else []
        if checked.hidden and not problems:
            continue
        report.failing += 1
        if len(failing) < _MOST_TRIED:
            failing.append(checked)
        if len(explained) < _MOST_EXPLAINED:
            explained.append((checked.data, problems))
            _count_problems(report, index, problems)
        else:
            report.counts["(not looked into)"] += 1
    report.migration = _suggest_migration(new, explained)
    fixed = sum(not checked.problems(new, report.migration) for checked in failing) if report.migration else 0
    report.after_migration = report.failing - fixed
    return report


def _count_problems(report: EvolutionReport, index: int, problems: Sequence[Problem]) -> None:
    for kind in dict.fromkeys(problem_kind(problem) for problem in problems):
        report.counts[kind] += 1
    for problem in problems:
        found = report.samples.setdefault(problem_kind(problem), [])
        if len(found) < SAMPLES:
            found.append(Sample(index, problem))


def problem_kind(problem: Problem) -> str:
    """Rule and place of a problem; list positions do not matter."""
    place = "/".join("*" if isinstance(step, int) else step for step in problem.where)
    return f"{problem.code} {place}".strip()


def _suggest_migration(
    new: CompiledSchema, failing: Sequence[tuple[Mapping[str, Any], list[Problem]]]
) -> list[MigrationStep]:
    steps: list[MigrationStep] = []
    grouped: dict[tuple[str, str], list[tuple[Mapping[str, Any], Problem]]] = defaultdict(list)
    for data, problems in failing:
        for problem in problems:
            if len(problem.where) == 1:
                grouped[problem.code, str(problem.where[0])].append((data, problem))
    order = {"required": 0, "additionalProperties": 1, "unevaluatedProperties": 1, "type": 2, "enum": 3}
    for (rule, name), found in sorted(grouped.items(), key=lambda entry: order.get(entry[0][0], 9)):
        step = _suggest_step(new, rule, name, found)
        if step is not None and not _renamed_earlier(steps, step) and _helps(new, failing, steps, step):
            steps.append(step)
    return steps


def _renamed_earlier(steps: Sequence[MigrationStep], step: MigrationStep) -> bool:
    """A property that was renamed away need not be dropped as well."""
    return any(step.property in (earlier.property, earlier.to) and earlier.kind == "rename" for earlier in steps)


def _suggest_step(
    new: CompiledSchema,
    rule: str,
    name: str,
    found: Sequence[tuple[Mapping[str, Any], Problem]],
) -> MigrationStep | None:
    definition = new.properties.get(name)
    if rule == "required":
        origin = _likely_old_name(new, name, [data for data, _ in found])
        if origin is not None:
            return MigrationStep("rename", origin, to=name)
        value = _default_value(definition.definition) if definition else None
        return MigrationStep("default", name, value=value) if value is not None else None
    if rule in ("additionalProperties", "unevaluatedProperties"):
        return MigrationStep("drop", name)
    if definition is None:
        return None
    values = [problem.value for _, problem in found]
    if rule == "type":
        return next(
            (
                MigrationStep("cast", name, to=to)
                for to in definition.types
                if any(convert_value(value, to) is not NO_VALUE for value in values)
            ),
            None,
        )
    if rule == "enum":
        pairs = {
            repr(value): (value, near)
            for value in values
            if (near := closest_value(value, definition.enum)) is not NO_VALUE
        }
        return MigrationStep("enum_map", name, values=tuple(pairs.values())) if pairs else None
    return None


def _likely_old_name(new: CompiledSchema, name: str, objects: Sequence[Mapping[str, Any]]) -> str | None:
    """The undeclared property that most of these objects have instead of the missing one."""
    undeclared = Counter(key for data in objects for key in data if key not in new.properties)
    common = [key for key, count in undeclared.items() if count * 2 >= len(objects)]
    close = nearest(name, common)
    return close[0] if close else None


def _default_value(definition: Mapping[str, Any]) -> Any:
    for keyword in ("default", "const"):
        if definition.get(keyword) is not None:
            return definition[keyword]
    return None


def _helps(
    new: CompiledSchema,
    failing: Sequence[tuple[Mapping[str, Any], list[Problem]]],
    steps: Sequence[MigrationStep],
    step: MigrationStep,
) -> bool:
    """Fewer problems with the step than without it, over the first few objects it concerns."""
    touched = {step.property, step.to}
    concerned = [
        data for data, problems in failing if any(one.where[:1] and one.where[0] in touched for one in problems)
    ]
    before = after = 0
    for data in islice(concerned, 20):
        before += len(new.problems(migrate(data, steps)))
        after += len(new.problems(migrate(data, [*steps, step])))
    return after < before


_ANNOTATIONS: Final = frozenset(
    {"title", "description", "summary", "order", "example", "examples", "$comment", "visible"}
)
_PROPERTY_ANNOTATIONS: Final = _ANNOTATIONS | {"authorization", "hideOnCollection", "hideOnForm", "deprecated"}
_SCHEMA_ANNOTATIONS: Final = _ANNOTATIONS | {
    "id", "uuid", "slug", "version", "uri", "icon", "owner", "organisation", "application", "authorization", "groups",
    "configuration", "source", "archive", "published", "depublished", "hooks", "searchable", "updated", "created",
    "deleted", "folder", "immutable",
}  # fmt: skip
"""Keywords that do not decide whether an object is valid."""


def cannot_affect(old: "CompiledSchema", new: "CompiledSchema", unseen: frozenset[str] | None) -> bool:
    """Whether the change cannot affect the validity of these properties; None means any property of hidden objects."""
    before, after = old.body, new.body
    for keyword in (before.keys() | after.keys()) - _SCHEMA_ANNOTATIONS - {"properties", "required"}:
        if before.get(keyword) != after.get(keyword):
            return False
    if before.get("configuration") != after.get("configuration") and old.unique != new.unique:
        return False
    changed = _changed_properties(before.get("properties") or {}, after.get("properties") or {})
    demanded = new.required - old.required
    if unseen is not None:
        return unseen.isdisjoint(changed | demanded)
    closed = before.get("additionalProperties") is False
    return not demanded and (not changed or (closed and changed.isdisjoint(old.properties)))


def _changed_properties(before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
    """The properties that are defined in another way, or no longer, or only now."""
    return frozenset(
        name for name in before.keys() | after.keys() if _rules(before.get(name)) != _rules(after.get(name))
    )


def _rules(definition: Any) -> Any:
    if not isinstance(definition, Mapping):
        return definition
    return {keyword: value for keyword, value in definition.items() if keyword not in _PROPERTY_ANNOTATIONS}  # pyright: ignore[reportUnknownVariableType]  plain JSON
