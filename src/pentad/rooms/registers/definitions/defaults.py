"""Values that the schema fills in before an object is validated: defaults, constants, computed values, dates.

The behaviour of a default says when it applies: `absent` fills missing and null values, `falsy` also empty texts and
lists, and `always` overwrites the given value. A default with `{{ }}` is a template over the object as the caller sent
it. Computed values replace any given value.

Only what changes is copied, so an object that needs nothing costs nothing.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_list, as_object
from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import (
    Expression,
    ExpressionError,
    Template,
    is_template,
    parse_expression,
    parse_template,
)
from pentad.rooms.registers.definitions.formats import date_of
from pentad.rooms.registers.definitions.object_validation import Problem, problem

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.properties import Property

Behaviour = Literal["absent", "falsy", "always"]
BEHAVIOURS: Final[dict[Any, Behaviour]] = {
    None: "absent",
    False: "absent",
    "": "absent",
    "absent": "absent",
    "false": "absent",
    "falsy": "falsy",
    "always": "always",
}


@dataclass(frozen=True, slots=True)
class Default:
    """A default: a value, or a template that makes one."""

    value: Any
    behaviour: Behaviour = "absent"
    template: Template | None = None

    def applies(self, data: Mapping[str, Any], name: str) -> bool:
        given = data.get(name)
        if given is None or self.behaviour == "always":
            return True
        return self.behaviour == "falsy" and (given == "" or given == [])

    def make(self, data: Mapping[str, Any], now: float, facts: Mapping[str, Any]) -> Any:
        """A new value; None if the template gives none."""
        if self.template is not None:
            return evaluate(self.template, data, now=now, facts=facts)
        return deepcopy(self.value)


def read_default(node: Mapping[str, Any]) -> Default | None:
    """The default a property declares; a constant is its own default. Raises ExpressionError for a broken template."""
    value = node.get("default")
    if value is None:
        return Default(node["const"]) if node.get("const") is not None else None
    given = node.get("defaultBehavior")
    behaviour = BEHAVIOURS.get(given, "absent") if given is None or isinstance(given, str | bool) else "absent"
    return Default(value, behaviour, parse_template(value) if is_template(value) else None)


When = Literal["save", "read"]


@dataclass(frozen=True, slots=True)
class Computed:
    """`computed: "expression"`, or an object with `expression` and `on` (or `evaluateOn`): save or read."""

    rule: Expression | Template
    on: When = "save"


def read_computed(node: Mapping[str, Any]) -> Computed | None:
    """The computed value a property declares. Raises ExpressionError if its expression cannot be parsed."""
    declared = node.get("computed")
    when: Any = "save"
    if isinstance(declared, Mapping):
        settings = cast("Mapping[str, Any]", declared)
        declared = settings.get("expression")
        when = settings.get("on") or settings.get("evaluateOn") or "save"
    if not isinstance(declared, str) or not declared.strip():
        return None
    rule = parse_template(declared) if is_template(declared) else parse_expression(declared)
    return Computed(rule, "save" if when == "save" else "read")


def dependency_order(computed: Mapping[str, Computed]) -> list[tuple[str, Computed]]:
    """The rules in order, each after the ones it reads. InvalidInput for a cycle."""
    done: dict[str, Computed] = {}
    waiting = dict(computed)
    while waiting:
        ready = [name for name, rule in waiting.items() if waiting.keys().isdisjoint(rule.rule.properties())]
        if not ready:
            names = ", ".join(sorted(waiting))
            raise InvalidInput(
                f"The computed properties {names} are computed from one another.",
                hint="Let one of them be given.",
                details={"problems": [{"path": "/properties", "rule": "computed", "message": f"circle among {names}"}]},
            )
        for name in ready:
            done[name] = waiting.pop(name)
    return list(done.items())


_DATE: Final = len("2020-01-01")


@dataclass(frozen=True, slots=True)
class _Level:
    """The defaults and dates of one object in the data, and of the objects inside it."""

    defaults: tuple[tuple[str, Default], ...]
    dates: tuple[str, ...]
    inside: tuple[tuple[str, "_Level"], ...]
    listed: tuple[tuple[str, "_Level"], ...]

    def __bool__(self) -> bool:
        return bool(self.defaults or self.dates or self.inside or self.listed)


def _level(node: Mapping[str, Any]) -> _Level:
    properties = {name: as_object(inner) for name, inner in as_object(node.get("properties")).items()}
    defaults = [(name, read_default(inner)) for name, inner in properties.items()]
    inside = [(name, _level(inner)) for name, inner in properties.items() if "properties" in inner]
    listed = [(name, _level(as_object(inner.get("items")))) for name, inner in properties.items() if "items" in inner]
    return _Level(
        defaults=tuple((name, default) for name, default in defaults if default is not None),
        dates=tuple(name for name, inner in properties.items() if _is_date(inner) or _is_date(inner.get("items"))),
        inside=tuple((name, level) for name, level in inside if level),
        listed=tuple((name, level) for name, level in listed if level),
    )


def _is_date(node: Any) -> bool:
    return as_object(node).get("format") == "date"


class Defaults:
    """The defaults and computed values of one schema, prepared once."""

    __slots__ = ("_computed", "_dates_only", "_root", "_shown")

    def __init__(self, body: Mapping[str, Any], properties: "Mapping[str, Property]") -> None:
        rules = {name: found.computed for name, found in properties.items() if found.computed is not None}
        self._root = _level(body)
        self._computed = [(name, rule) for name, rule in dependency_order(rules) if rule.on == "save"]
        self._shown = [(name, rule) for name, rule in dependency_order(rules) if rule.on == "read"]
        self._dates_only = not (self._computed or self._root.defaults or self._root.inside or self._root.listed)

    @property
    def needed(self) -> bool:
        return bool(self._root or self._computed)

    def fill(
        self, data: dict[str, Any], *, now: float, facts: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[Problem]]:
        """The object with defaults, dates and computed values, and the problems found."""
        if self._dates_only and not any(_may_hold_time(data.get(name)) for name in self._root.dates):
            return data, []
        run = _DefaultsRun(data, now, facts)
        filled = run.level(data, self._root, ()) if self._root else data
        return run.compute(filled, self._computed), run.problems

    def show(self, data: dict[str, Any], *, now: float, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The object with the properties computed on reading; those that fail are left out."""
        return _DefaultsRun(data, now, facts).compute(data, self._shown) if self._shown else data


class _DefaultsRun:
    """Fills in one object."""

    __slots__ = ("_facts", "_given", "_now", "problems")

    def __init__(self, given: dict[str, Any], now: float, facts: Mapping[str, Any]) -> None:
        self._given = given
        self._now = now
        self._facts = facts
        self.problems: list[Problem] = []

    def level(self, data: dict[str, Any], level: _Level, path: tuple[str | int, ...]) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        for name, default in level.defaults:
            if default.applies(data, name) and (value := self._make_value(default, (*path, name))) is not None:
                changed[name] = value
        for name in level.dates:
            value = changed.get(name, data.get(name))
            if (cut := _dates_only(value)) is not value:
                changed[name] = cut
        for name, inner in level.inside:
            value = changed.get(name, data.get(name))
            if (filled := self._member(value, inner, (*path, name))) is not value:
                changed[name] = filled
        for name, inner in level.listed:
            value = as_list(changed.get(name, data.get(name)))
            filled = [self._member(member, inner, (*path, name, index)) for index, member in enumerate(value)]
            if any(new is not old for new, old in zip(filled, value, strict=True)):
                changed[name] = filled
        return {**data, **changed} if changed else data

    def compute(self, data: dict[str, Any], rules: list[tuple[str, Computed]]) -> dict[str, Any]:
        """A computed value replaces any given value; null means no value."""
        if not rules:
            return data
        filled = dict(data)
        for name, rule in rules:
            try:
                value = evaluate(rule.rule, filled, now=self._now, facts=self._facts)
            except ExpressionError as error:
                self.problems.append(problem((name,), "computed", f"cannot be computed: {error.message.rstrip('.')}"))
                value = None
            if value is None:
                filled.pop(name, None)
            else:
                filled[name] = value
        return filled

    def _member(self, value: Any, level: _Level, path: tuple[str | int, ...]) -> Any:
        return self.level(cast("dict[str, Any]", value), level, path) if isinstance(value, dict) else value

    def _make_value(self, default: Default, path: tuple[str | int, ...]) -> Any:
        try:
            return default.make(self._given, self._now, self._facts)
        except ExpressionError as error:
            self.problems.append(problem(path, "default", f"has a default that fails: {error.message.rstrip('.')}"))
            return None


def _may_hold_time(value: Any) -> bool:
    """False for anything no longer than a date, which nearly all dates are."""
    return value is not None and (value.__class__ is not str or len(value) > _DATE)


def _dates_only(value: Any) -> Any:
    """Cut date-times down to dates, also in a list."""
    if isinstance(value, list):
        found = as_list(value)
        cut = [date_of(member) or member for member in found]
        return cut if any(new is not old for new, old in zip(cut, found, strict=True)) else found
    return date_of(value) or value
