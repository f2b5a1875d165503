"""Evaluates an expression over an object's data, within a fixed number of steps.

A missing value is null, and arithmetic and one-value functions return null for null, so half-filled objects compute
null instead of failing. Any other unsuitable value raises an ExpressionError that names the operation.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, cast

from pentad.kernel.json_patch import same_json
from pentad.rooms.registers.definitions.expressions import (
    Call,
    Choice,
    Constant,
    Expression,
    ExpressionError,
    Lookup,
    Node,
    Operation,
    Template,
)
from pentad.rooms.registers.definitions.functions import (
    FUNCTIONS,
    LONGEST_TEXT,
    InvalidValue,
    as_text,
    is_number,
    kind_of,
)

MOST_STEPS: Final = 10_000
_LARGEST: Final = 2**63 - 1
_TAKES_NULL: Final = frozenset({"coalesce", "concat", "count", "list", "min", "max", "sum", "text"})
_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
    "%": operator.mod,
}
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(
    rule: Expression | Template, data: Mapping[str, Any], *, now: float, facts: Mapping[str, Any] | None = None
) -> Any:
    """The value of an expression or a template over `data`."""
    run = _Evaluation(data, now, facts or {})
    if isinstance(rule, Expression):
        return run.whole(rule)
    if len(rule.parts) == 1 and isinstance(rule.parts[0], Expression):
        return run.whole(rule.parts[0])
    texts = [part if isinstance(part, str) else run.text(part) for part in rule.parts]
    if sum(map(len, texts)) > LONGEST_TEXT:
        raise ExpressionError(f"The template makes a text of more than {LONGEST_TEXT} characters.")
    return "".join(texts)


class _Evaluation:
    """One evaluation: the data, the clock and the remaining steps."""

    __slots__ = ("_data", "_facts", "_now", "_steps")

    def __init__(self, data: Mapping[str, Any], now: float, facts: Mapping[str, Any]) -> None:
        self._data = data
        self._facts = facts
        self._now = now
        self._steps = MOST_STEPS

    def whole(self, rule: Expression) -> Any:
        try:
            return self._value(rule.tree)
        except InvalidValue as refused:
            raise ExpressionError(f"{refused} (in the expression {rule.source[:80]!r}).") from None

    def text(self, rule: Expression) -> str:
        value = self.whole(rule)
        try:
            return as_text(value)
        except InvalidValue as refused:
            raise ExpressionError(f"A template {refused} (in {rule.source[:80]!r}).") from None

    def _spend(self, steps: int = 1) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise InvalidValue(f"An expression may take {MOST_STEPS} steps")

    def _value(self, node: Node) -> Any:
        self._spend()
        match node:
            case Constant(value):
                return value
            case Lookup(path, fact):
                return self._follow(self._facts if fact else self._data, path)
            case Choice(chosen, condition, otherwise):
                return self._value(chosen if self._value(condition) else otherwise)
            case Operation(sign, operands):
                return self._operation(sign, operands)
            case Call(name, arguments):
                return self._call(name, [self._value(argument) for argument in arguments])

    def _follow(self, node: Any, path: Sequence[str | int]) -> Any:
        """Follow a path; a name applied to a list is applied to each member."""
        for depth, step in enumerate(path):
            if isinstance(node, Mapping) and isinstance(step, str):
                node = cast("Mapping[str, Any]", node).get(step)
            elif isinstance(node, list) and isinstance(step, int):
                members = cast("list[Any]", node)
                node = members[step] if step < len(members) else None
            elif isinstance(node, list):
                members = cast("list[Any]", node)
                self._spend(len(members))
                return [self._follow(member, path[depth:]) for member in members]
            else:
                return None
        return node

    def _call(self, name: str, values: list[Any]) -> Any:
        self._spend(sum(len(cast("list[Any]", value)) for value in values if isinstance(value, list)))
        if name not in _TAKES_NULL and values and values[0] is None:
            return None
        try:
            return _checked(FUNCTIONS[name].run(values, self._now))
        except InvalidValue as refused:
            raise InvalidValue(f"{name} {refused}") from None

    def _operation(self, sign: str, operands: Sequence[Node]) -> Any:
        left = self._value(operands[0])
        if sign == "not":
            return not left
        if sign == "minus":
            return None if left is None else _arithmetic("-", 0, left)
        if sign == "and":
            return self._value(operands[1]) if left else left
        if sign == "or":
            return left or self._value(operands[1])
        right = self._value(operands[1])
        if sign in ("==", "!="):
            return same_json(left, right) is (sign == "==")
        if sign == "in":
            return self._contains(right, left)
        if sign in _ORDER:
            return _ordered(sign, left, right)
        return None if left is None or right is None else _arithmetic(sign, left, right)

    def _contains(self, whole: Any, part: Any) -> bool:
        if whole is None:
            return False
        if isinstance(whole, str) and isinstance(part, str):
            return part in whole
        if isinstance(whole, list):
            members = cast("list[Any]", whole)
            self._spend(len(members))
            return any(same_json(member, part) for member in members)
        raise InvalidValue(f"'in' looks into a text or a list, not {kind_of(whole)}")


def _ordered(sign: str, left: Any, right: Any) -> bool:
    if left is None or right is None:
        return False
    if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return _ORDER[sign](left, right)
    raise InvalidValue(f"{sign!r} compares two numbers or two texts, not {kind_of(left)} and {kind_of(right)}")


def _arithmetic(sign: str, left: Any, right: Any) -> Any:
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        return _checked(left + right)
    if not (is_number(left) and is_number(right)):
        raise InvalidValue(f"{sign!r} wants two numbers, not {kind_of(left)} and {kind_of(right)}")
    if sign in "/%" and right == 0:
        raise InvalidValue("Division by zero")
    try:
        if sign == "/" and isinstance(left, int) and isinstance(right, int) and left % right == 0:
            return left // right
        return _checked(_ARITHMETIC[sign](left, right))
    except OverflowError:
        raise InvalidValue("The number grows too large") from None


def _checked(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise InvalidValue(f"makes a text of more than {LONGEST_TEXT} characters")
    if isinstance(value, float) and not isfinite(value):
        raise InvalidValue("The number grows too large")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        raise InvalidValue("The number grows too large")
    return value
