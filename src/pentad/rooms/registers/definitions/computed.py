"""Properties whose value follows from others: what they compute, when, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.expressions import (
    Expression,
    Template,
    is_template,
    parse_expression,
    parse_template,
)

When = Literal["save", "read"]


@dataclass(frozen=True, slots=True)
class Computed:
    """`computed: "expression"`, or an object with `expression` and `on` (or `evaluateOn`): save or read."""

    rule: Expression | Template
    on: When = "save"


def read_computed(node: Mapping[str, Any]) -> Computed | None:
    """What a property declares. Raises ExpressionError for an expression that cannot be read."""
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


def in_order(computed: Mapping[str, Computed]) -> list[tuple[str, Computed]]:
    """Each after those it reads; InvalidInput when they read one another in a circle."""
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
