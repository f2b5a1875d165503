"""Checks a changed schema against the stored objects: what would fail, which values would be lost, and which migration
would help.

Every object is checked, in batches with bounded memory: counts are exact, samples are few. A migration step is
suggested only if it fixes more than it breaks when tried on failing objects. Nothing here changes a stored object.

`cannot_affect` judges from the definitions alone whether a change can affect data its author may not read. Trying the
change on hidden values would reveal them: an author could narrow a bound step by step until it is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from pentad.kernel.counts import counted
from pentad.kernel.json_pointer import split_pointer
from pentad.kernel.json_values import as_object
from pentad.kernel.names import nearest
from pentad.kernel.problems import NO_VALUE, closest_value, convert_value
from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
from pentad.rooms.registers.definitions.dropped_rules import dropped_rules, removed_properties
from pentad.rooms.registers.definitions.migration import MigrationStep, changing_steps, migrate
from pentad.rooms.registers.definitions.object_validation import Problem, problem, shortened
from pentad.rooms.registers.definitions.schema_patch import renames, touched_names
from pentad.rooms.registers.next_step import NextStep, Outlook

SAMPLES: Final = 5
_INCOMPLETE: Final = "Objects and properties that you may not read were not looked at."
_MOST_EXPLAINED: Final = 200
_MOST_KINDS: Final = 500
_MOST_VALUES: Final = 500
_MOST_CLAIMS: Final = 250_000
"""How many unique values one pass remembers; more take several passes."""
_OTHER_KINDS: Final = "(more kinds)"


def _identity(uuid: str, name: str | None) -> dict[str, Any]:
    return {"id": uuid} if name is None else {"id": uuid, "name": shortened(name)}


@dataclass(frozen=True, slots=True)
class Sample:
    """An object that would fail, its name if it has one, and the problem."""

    uuid: str
    problem: Problem
    name: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {**_identity(self.uuid, self.name), **self.problem.as_json()}


@dataclass(slots=True)
class Affected:
    """How many objects are affected, and the first of them."""

    objects: int = 0
    samples: list[Any] = field(default_factory=list[Any])

    def add(self, sample: Any) -> None:
        self.objects += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(sample)

    def as_json(self) -> dict[str, Any]:
        return {"objects": self.objects, "samples": self.samples}


@dataclass(slots=True)
class EvolutionReport:
    """What a schema change would do.

    `after_migration` counts the objects that fail even after the suggested steps. `orphaned` values would stay in the
    objects under names the schema no longer declares; `lost` ones would be removed. Only administrators get a
    `complete` report. For everyone else it covers what they may read, and says so even if there is nothing else.
    """

    total: int = 0
    failing: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])
    samples: dict[str, list[Sample]] = field(default_factory=dict[str, list[Sample]])
    migration: list[MigrationStep] = field(default_factory=list[MigrationStep])
    after_migration: int = 0
    complete: bool = True
    migrated: Affected = field(default_factory=Affected)
    orphaned: dict[str, Affected] = field(default_factory=dict[str, Affected])
    lost: dict[str, Affected] = field(default_factory=dict[str, Affected])
    removed: list[str] = field(default_factory=list[str])
    dropped: list[str] = field(default_factory=list[str])
    unused: list[MigrationStep] = field(default_factory=list[MigrationStep])
    """The migration steps that would change no object; a plan names them."""
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    """Added by the catalogue: changed lines, indexes, what would break, warnings, the confirm token."""
    outlook: Outlook | None = None

    def as_json(self, word: Callable[[NextStep], str] | None = None) -> dict[str, Any]:
        """The report as JSON. `word` phrases the next step for an interface."""
        why = {} if self.complete else {"reason": _INCOMPLETE}
        extra: dict[str, Any] = {
            "migrated": self.migrated.as_json() if self.migrated.objects else None,
            "orphaned": {name: found.as_json() for name, found in self.orphaned.items()},
            "lost": {name: found.as_json() for name, found in self.lost.items()},
            "removed_properties": self.removed,
            "dropped_rules": self.dropped,
            "unused_steps": [{**step.as_json(), "objects": 0} for step in self.unused],
            **self.more,
            **({} if self.outlook is None or word is None else self._outlook_json(self.outlook, word)),
        }
        return {
            "total": self.total,
            "failing": self.failing,
            "counts": dict(self.counts.most_common()),
            "samples": {kind: [sample.as_json() for sample in found] for kind, found in self.samples.items()},
            **(self._migration_json() if self.migration else {}),
            **{name: value for name, value in extra.items() if value},
            "complete": self.complete,
            **why,
        }

    def _outlook_json(self, outlook: Outlook, word: Callable[[NextStep], str]) -> dict[str, Any]:
        step = outlook.step
        return {
            "next": outlook.sentence("" if step is None else word(step)),
            "next_step": None if step is None else step.as_json(),
        }

    def _migration_json(self) -> dict[str, Any]:
        return {
            "migration": [step.as_json() for step in self.migration],
            "failing_after_migration": self.after_migration,
        }

    def example_step(self) -> dict[str, Any] | None:
        """A step for the first property whose values do not fit. The caller has to choose the value (`...`)."""
        for sample in (sample for found in self.samples.values() for sample in found):
            problem = sample.problem
            if len(problem.where) != 1:
                continue
            name = str(problem.where[0])
            if problem.code == "required":
                return {"step": "default", "property": name, "value": "..."}
            if problem.code not in ("unique", "index") and isinstance(problem.value, str | int | float):
                return {"step": "enum_map", "property": name, "values": [[shortened(problem.value), "..."]]}
        return None

    @property
    def matters(self) -> bool:
        """Whether objects would fail or lose something."""
        return bool(self.failing or self.losses())

    def losses(self) -> str:
        """What would be lost, in words; empty if nothing would be.

        If the report is incomplete, a removed property counts as a loss even if no object with a value was seen: the
        answer must not depend on objects hidden from the caller.
        """
        lost: list[str] = []
        for name, found in (*self.orphaned.items(), *self.lost.items()):
            lost.append(f"the values of {name!r} in {counted(found.objects, 'object')}")
        if not self.complete:
            lost = [f"the property {name!r} and its values" for name in self.removed] or lost
        if self.dropped:
            more = f" and {len(self.dropped) - 5} more" if len(self.dropped) > 5 else ""
            lost.append(f"the rules {', '.join(self.dropped[:5])}{more}")
        return "; ".join(lost)


@dataclass(frozen=True, slots=True)
class ReadableObject:
    """An object to check before and after the migration, without the properties `hidden` from the caller."""

    uuid: str
    before: Mapping[str, Any]
    data: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()
    scope: tuple[int, str] = (0, "")
    """The register and organisation in which unique values must be unique."""

    def problems(
        self, new: CompiledSchema, steps: Sequence[MigrationStep] = (), *, brief: bool = False
    ) -> list[Problem]:
        """Its problems after some steps, ignoring hidden properties that only seem to be missing."""
        data = migrate(self.data, steps) if steps else self.data
        if new.is_valid(data):
            return []
        found = new.problems(data, brief=brief)
        return [one for one in found if not self.hidden or (one.where and one.where[0] not in self.hidden)]


Objects = Callable[[], Iterable[ReadableObject]]
"""Iterates over all objects the caller may read, from the start each time."""
StoreRules = Callable[[ReadableObject], Iterable[tuple[str, bytes | None]]]
"""The store's rules for an object: for a unique key, its label and the value's digest; for other rules, None."""


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """Two compiled versions of a schema, and the steps between them."""

    old: CompiledSchema
    new: CompiledSchema
    steps: Sequence[MigrationStep] = ()

    def describe(self, report: EvolutionReport) -> None:
        """Record what follows from the definitions alone: removed properties and dropped rules."""
        renamed = renames(self.steps)
        report.removed = removed_properties(self.old.body, self.new.body, renamed)
        report.dropped = dropped_rules(self.old.body, self.new.body, renamed)

    def name_of(self, data: Mapping[str, Any]) -> str | None:
        """What people call an object: the value of a unique property, or its name."""
        for key in self.old.unique:
            value = data.get(str(key.paths[0][0])) if len(key.paths) == 1 == len(key.paths[0]) else None
            if isinstance(value, str | int):
                return str(value)
        return self.old.name_of(data)

    @property
    def moves_values(self) -> bool:
        """Whether values may be orphaned or lost, so that objects need checking."""
        return bool(self.steps) or bool(removed_properties(self.old.body, self.new.body, renames(self.steps)))


def preflight(
    change: DefinitionChange, objects: Objects, *, store_rules: StoreRules | None = None, expected: int = 0
) -> EvolutionReport:
    """Check every object. Objects contain only what the caller may read, so only that is tried and counted.

    `expected` is the approximate number of objects and determines how many passes the unique values take. With
    `store_rules`, as for a plan, the report also names the steps that would change no object.
    """
    report = EvolutionReport()
    change.describe(report)
    tried = _Trial(change, report)
    unused = set(range(len(change.steps) if store_rules is not None else 0))
    passes = 1 + expected // _MOST_CLAIMS if store_rules is not None else 1
    for portion in range(passes):
        holders: dict[tuple[str, bytes], str] = {}
        for checked in objects():
            failed = tried.check(checked) if portion == 0 else None
            unused.difference_update(changing_steps(checked.before, change.steps) if unused else ())
            if store_rules is None:
                continue
            refused = [
                found
                for kind, claim in store_rules(checked)
                if (found := _refused(holders, checked.uuid, kind, claim, portion, passes)) is not None
            ]
            if refused:
                tried.refuse(checked, refused, already=bool(checked.problems(change.new)) if failed is None else failed)
    report.unused = [step for place, step in enumerate(change.steps) if place in unused]
    report.migration = _suggest_migration(change.new, tried, _suggest_renames(change, report))
    if report.migration:
        report.after_migration = sum(bool(one.problems(change.new, report.migration, brief=True)) for one in objects())
    else:
        report.after_migration = report.failing
    return report


class _Trial:
    """The findings of one pass over all objects, beyond the counts in the report."""

    def __init__(self, change: DefinitionChange, report: EvolutionReport) -> None:
        self._change = change
        self._report = report
        self._renamed = renames(change.steps)
        self._touched = frozenset(touched_names(change.steps))
        self.explained: list[tuple[Mapping[str, Any], list[Problem]]] = []
        self.values: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
        """The distinct values that break a rule at a property, for steps that map values."""

    def check(self, checked: ReadableObject) -> bool:
        """Count one object; returns whether it fails."""
        report, new = self._report, self._change.new
        report.total += 1
        for name in report.removed:
            if checked.data.get(name) is not None:
                report.orphaned.setdefault(name, Affected()).add(self._named(checked))
        if self._change.steps and checked.data != checked.before:
            report.migrated.add(self._step_sample(checked))
            for name in _lost_values(checked.before, self._change.steps, self._renamed):
                report.lost.setdefault(name, Affected()).add(self._named(checked))
        if new.is_valid(checked.data):
            return False
        in_full = len(self.explained) < _MOST_EXPLAINED
        problems = checked.problems(new, brief=not in_full)
        if checked.hidden and not problems:
            return False
        report.failing += 1
        if in_full:
            self.explained.append((checked.data, problems))
        for found in problems:
            if len(found.where) == 1 and found.value is not NO_VALUE:
                values = self.values[found.code, str(found.where[0])] if len(self.values) < _MOST_KINDS else {}
                if len(values) < _MOST_VALUES:
                    values.setdefault(repr(shortened(found.value)), found.value)
        self._count(checked, problems)
        return True

    def refuse(self, checked: ReadableObject, problems: Sequence[Problem], *, already: bool) -> None:
        """Count the values of an object that the store would refuse."""
        self._report.failing += 0 if already else 1
        self._count(checked, problems)

    def _count(self, checked: ReadableObject, problems: Sequence[Problem]) -> None:
        """Count an object once for each kind of problem it has."""
        report, kinds = self._report, set[str]()
        for found in problems:
            kind = problem_kind(found)
            if kind not in report.counts and len(report.counts) >= _MOST_KINDS:
                kind = _OTHER_KINDS
            samples = report.samples.setdefault(kind, [])
            if len(samples) < SAMPLES:
                samples.append(Sample(checked.uuid, found, self._change.name_of(checked.before)))
            kinds.add(kind)
        report.counts.update(kinds)

    def _named(self, checked: ReadableObject) -> dict[str, Any]:
        return _identity(checked.uuid, self._change.name_of(checked.before))

    def _step_sample(self, checked: ReadableObject) -> dict[str, Any]:
        def part(data: Mapping[str, Any]) -> dict[str, Any]:
            return {name: shortened(value) for name, value in data.items() if name in self._touched}

        return {**self._named(checked), "before": part(checked.before), "after": part(checked.data)}


def _refused(
    holders: dict[tuple[str, bytes], str], uuid: str, kind: str, claim: bytes | None, portion: int, passes: int
) -> Problem | None:
    """The problem if another object already has the unique value, or if a value is too long for the store."""
    where = tuple(kind.split(".")) if "+" not in kind else ()
    if claim is None:
        return problem(where, "index", "is too long for an index") if portion == 0 else None
    if claim[0] % passes != portion:
        return None
    holder = holders.setdefault((kind, claim), uuid)
    if holder == uuid:
        return None
    named = f"{kind.replace('+', ' + ')} " if not where else ""
    return problem(where, "unique", f"{named}must be unique; object {holder} has the same value".strip())


def _lost_values(
    before: Mapping[str, Any], steps: Sequence[MigrationStep], renamed: Mapping[str, str]
) -> Iterator[str]:
    """The properties whose values the steps remove: dropped, or overwritten by a rename."""
    origins = {new: old for old, new in renamed.items()}
    for step in steps:
        path = split_pointer(step.property) if step.property.startswith("/") else (step.property,)
        value: Any = before
        for part in (origins.get(str(path[0]), str(path[0])), *path[1:]):
            value = as_object(value).get(str(part))
        if value is None:
            continue
        if step.kind == "drop":
            yield step.property
        elif step.kind == "rename" and len(path) == 1 and step.to not in renamed and before.get(step.to) is not None:
            yield step.to


def _suggest_renames(change: DefinitionChange, report: EvolutionReport) -> list[MigrationStep]:
    """Suggest the new property that orphaned values probably belong to."""
    added = [name for name in change.new.properties if name not in change.old.properties]
    steps: list[MigrationStep] = []
    for name in report.orphaned:
        types = change.old.properties[name].types
        alike = [one for one in added if change.new.properties[one].types == types]
        close = nearest(name, added, limit=1) or (alike if len(alike) == 1 == len(report.removed) else [])
        if close:
            added.remove(close[0])
            steps.append(MigrationStep("rename", name, to=close[0]))
    return steps


def problem_kind(found: Problem) -> str:
    """The rule and place of a problem, ignoring list positions."""
    place = "/".join("*" if isinstance(step, int) else step for step in found.where)
    return f"{found.code} {place}".strip()


def _suggest_migration(new: CompiledSchema, tried: _Trial, steps: list[MigrationStep]) -> list[MigrationStep]:
    failing = tried.explained
    grouped: dict[tuple[str, str], list[tuple[Mapping[str, Any], Problem]]] = defaultdict(list)
    for data, problems in failing:
        for found in problems:
            if len(found.where) == 1:
                grouped[found.code, str(found.where[0])].append((data, found))
    order = {"required": 0, "additionalProperties": 1, "unevaluatedProperties": 1, "type": 2, "enum": 3}
    for (rule, name), broken in sorted(grouped.items(), key=lambda entry: order.get(entry[0][0], 9)):
        step = _suggest_step(new, rule, name, broken, list(tried.values[rule, name].values()))
        if step is not None and not _renamed_earlier(steps, step) and _helps(new, failing, steps, step):
            steps.append(step)
    return steps


def _renamed_earlier(steps: Sequence[MigrationStep], step: MigrationStep) -> bool:
    """Whether the property was already renamed, so it need not be dropped."""
    return any(step.property in (earlier.property, earlier.to) and earlier.kind == "rename" for earlier in steps)


def _suggest_step(
    new: CompiledSchema,
    rule: str,
    name: str,
    found: Sequence[tuple[Mapping[str, Any], Problem]],
    values: Sequence[Any],
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
    """Whether the step leaves fewer problems in the first few objects it affects."""
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
    """The properties that were changed, removed or added."""
    return frozenset(
        name for name in before.keys() | after.keys() if _rules(before.get(name)) != _rules(after.get(name))
    )


def _rules(definition: Any) -> Any:
    if not isinstance(definition, Mapping):
        return definition
    return {keyword: value for keyword, value in definition.items() if keyword not in _PROPERTY_ANNOTATIONS}  # pyright: ignore[reportUnknownVariableType]  plain JSON
