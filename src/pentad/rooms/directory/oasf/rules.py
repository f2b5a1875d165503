"""Rules for attributes: closures made once per version, so that checking a valid value costs almost nothing.

For a valid value a rule is one test and a return. `findings.py` explains what is wrong with a rejected value.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from pentad.kernel.problems import Place
from pentad.rooms.directory.oasf.findings import (
    Report,
    Rule,
    Rules,
    constraint_failed,
    duplicate_item,
    empty_list,
    is_integer,
    is_moment,
    missing_attribute,
    not_a_list,
    null_value,
    unknown_attribute,
    wrong_type,
    wrong_value,
)
from pentad.rooms.directory.oasf.objects import Attribute, Constraint, Shape, ValueType

Check = Callable[[Any, Place, Report], None]
"""Checks a whole object: its value, its place, and the report."""

ANY_LENGTH: Final = sys.maxsize

_FEW: Final = 8
_PLANS: Final = 64
"""How many attribute sets are cached per object. Bounded, because callers choose them."""

_Flaw = Callable[[Mapping[str, Any], Place, Report], None]
"""Reports one problem with the set of an object's attributes."""

_Plan = tuple[tuple[tuple[int, Rule, str], ...], tuple[_Flaw, ...]]
"""How to check an object with a certain set of attributes: for each the text limit, the rule for other values and the
name; then the problems of the set itself."""


def text_limit(attribute: Attribute, kind: ValueType | None) -> int | None:
    """The length limit of a plain text attribute; None for other attributes."""
    limit = -1 if kind is None or attribute.array else _plain_limit(attribute, kind)
    return None if limit < 0 else limit


def scalar_rule(attribute: Attribute, kind: ValueType) -> Rule:
    """The rule for one value of a value type."""
    if kind.kind == "any":
        return any_value
    if attribute.values:
        return _enum_rule(attribute, kind)
    if kind.regex is not None:
        return _pattern_rule(attribute, kind, kind.regex)
    good = scalar_test(attribute, kind)
    usual = {"integer": int, "boolean": bool, "string": None, "number": None, "map": None}[kind.kind]

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not usual and not good(value):
            wrong_value(attribute, kind, value, (place, name), out)

    return rule


def any_value(value: Any, place: Place, name: str, out: Report) -> None:
    """The rule of an attribute that may have any value, or that is checked elsewhere."""


def _enum_rule(attribute: Attribute, kind: ValueType) -> Rule:
    allowed = frozenset(attribute.values)

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not str or value not in allowed:
            wrong_value(attribute, kind, value, (place, name), out)

    return rule


def _pattern_rule(attribute: Attribute, kind: ValueType, regex: str) -> Rule:
    limit = ANY_LENGTH if kind.max_len is None else kind.max_len
    search = _moment_search(regex) if kind.name == "datetime_t" else pattern(regex).search

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not str or len(value) > limit or not search(value):
            wrong_value(attribute, kind, value, (place, name), out)

    return rule


def scalar_test(attribute: Attribute, kind: ValueType) -> Callable[[Any], bool]:
    """A test whether a value is valid."""
    if kind.kind == "any":
        return lambda value: True
    if kind.kind == "boolean":
        return lambda value: value.__class__ is bool
    if kind.kind == "integer":
        return is_integer
    if kind.kind == "number":
        low, high = (-sys.float_info.max, sys.float_info.max) if kind.low is None else (kind.low, kind.high or 0)
        return lambda value: (value.__class__ is float or value.__class__ is int) and low <= value <= high
    if attribute.values:
        allowed = frozenset(attribute.values)
        return lambda value: value.__class__ is str and value in allowed
    limit = ANY_LENGTH if kind.max_len is None else kind.max_len
    if kind.regex is None:
        return lambda value: value.__class__ is str and len(value) <= limit
    search = _moment_search(kind.regex) if kind.name == "datetime_t" else pattern(kind.regex).search
    return lambda value: value.__class__ is str and len(value) <= limit and bool(search(value))


def _moment_search(regex: str) -> Callable[[str], bool]:
    """A test whether a text has the form of a time and is one: no thirteenth month."""
    search = pattern(regex).search
    return lambda text: search(text) is not None and is_moment(text)


def pattern(regex: str) -> re.Pattern[str]:
    """Compile a pattern as JSON Schema reads it: ASCII classes, and `$` is the very end."""
    return re.compile(regex[:-1] + r"\Z" if regex.endswith("$") else regex, re.ASCII)


def list_rule(attribute: Attribute, kind: ValueType) -> Rule:
    """The rule for a list of values. Plain texts pass without a call each."""
    good = scalar_test(attribute, kind)
    required = attribute.requirement == "required"
    limit = _plain_limit(attribute, kind)
    known = frozenset(attribute.values)

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not list or not value:
            reject_list(rule, value, required, place, name, out)
            return
        for index, item in enumerate(value):
            if item.__class__ is str and (len(item) <= limit or item in known):
                continue
            if not good(item):
                wrong_value(attribute, kind, item, ((place, name), index), out)
        if len(value) > 1 and (len(value) != 2 or value[0] == value[1]):
            report_duplicates(value, name, (place, name), out)

    return rule


def map_rule(attribute: Attribute, kind: ValueType) -> Rule:
    """The rule for a map of text to values of a type."""
    good = scalar_test(attribute, kind)
    limit = _plain_limit(attribute, kind)

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not dict:
            wrong_type(value, (place, name), name, attribute.type, "map", out)
            return
        for key, item in value.items():
            if (item.__class__ is not str or len(item) > limit) and not good(item):
                wrong_value(attribute, kind, item, ((place, name), key), out)

    return rule


def _plain_limit(attribute: Attribute, kind: ValueType) -> int:
    """The length up to which any text is valid; -1 if every text must be tested."""
    if kind.kind != "string" or attribute.values or kind.regex is not None:
        return -1
    return ANY_LENGTH if kind.max_len is None else kind.max_len


def list_of_objects(check: Check, *, required: bool) -> Rule:
    """The rule for a list of objects."""

    def rule(value: Any, place: Place, name: str, out: Report) -> None:
        if value.__class__ is not list or not value:
            reject_list(rule, value, required, place, name, out)
            return
        here = (place, name)
        for index, item in enumerate(value):
            check(item, (here, index), out)
        if len(value) > 1 and (len(value) != 2 or value[0] == value[1]):
            report_duplicates(value, name, here, out)

    return rule


def reject_list(rule: Rule, value: Any, required: bool, place: Place, name: str, out: Report) -> None:
    """Report a value that is not a list, or a required list that is empty."""
    if value.__class__ is not list:
        not_a_list(rule, value, (place, name), name, out)
    elif required:
        empty_list(name, (place, name), out)


def object_check(shape: Shape, rules: Rules, texts: Mapping[str, int], required: Sequence[str]) -> Check:
    """The check of an object by the rules of its attributes, in one pass.

    `texts` maps plain text attributes to their length limits: most of a record is such text, and it costs no call.
    Objects tend to have the same attributes, so the plan for a set of attributes is cached.
    """
    attributes = _Attributes(shape, rules, texts, required)
    plan_of = attributes.plans.get

    def check(value: Any, place: Place, out: Report) -> None:
        if value.__class__ is not dict:
            wrong_type(value, place, shape.name, shape.name, "object", out)
            return
        plan, flaws = plan_of(tuple(value)) or attributes.plan(value)
        for limit, rule, name in plan:
            item = value[name]
            if item.__class__ is str and len(item) <= limit:
                continue
            if item is None:
                null_value(name, name in required, rule, place, out)
            else:
                rule(item, place, name, out)
        for report in flaws:
            report(value, place, out)

    return check


class _Attributes:
    """The attributes of an object: allowed, required, and their constraints."""

    def __init__(self, shape: Shape, rules: Rules, texts: Mapping[str, int], required: Sequence[str]) -> None:
        self.plans: dict[tuple[str, ...], _Plan] = {}
        self._shape, self._rules, self._required = shape, rules, required
        expected = {*required, *shape.recommended()}
        self._expected = [name for name in shape.attributes if name in expected]
        self._constraints = tuple((constraint_test(constraint), constraint) for constraint in shape.constraints)
        self._steps = {name: (texts.get(name, -1), rule, name) for name, rule in rules.items()}

    def plan(self, value: Mapping[str, Any]) -> _Plan:
        """The plan for an object with these attributes."""
        known = [self._steps[name] for name in value if name in self._steps]
        plan = tuple(step for step in known if step[1] is not any_value), tuple(self._flaws(value))
        if len(self.plans) < _PLANS and len(known) == len(value):
            self.plans[tuple(value)] = plan
        return plan

    def _flaws(self, value: Mapping[str, Any]) -> Iterator[_Flaw]:
        """Unknown attributes, then missing ones in the order of the table, then failed constraints."""
        for name in value:
            if name not in self._steps:
                yield partial(unknown_attribute, name, self._shape, self._rules)
        for name in self._expected:
            if name not in value:
                yield partial(missing_attribute, name, name in self._required)
        for holds, constraint in self._constraints:
            if not holds(value):
                yield partial(constraint_failed, self._shape, constraint)


def constraint_test(constraint: Constraint) -> Callable[[Mapping[str, Any]], bool]:
    """A test whether an object meets a constraint."""
    names = frozenset(constraint.attributes)
    if constraint.kind == "just_one":
        return lambda value: len(names & value.keys()) == 1
    return lambda value: not names.isdisjoint(value)


def report_duplicates(items: list[Any], name: str, place: Place, out: Report) -> None:
    """Report every item that equals an earlier one. As in JSON, 1 equals 1.0, but not true."""
    if len(items) <= _FEW and not any(item in items[:index] for index, item in enumerate(items)):
        return
    seen: dict[Any, int] = {}
    for index, item in enumerate(items):
        key = item if item.__class__ is str else _comparable(item)
        first = seen.setdefault(key, index)
        if first != index:
            duplicate_item(name, first, index, place, out)


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return (list, *(_comparable(item) for item in cast("list[Any]", value)))
    return (bool, value) if isinstance(value, bool) else value
