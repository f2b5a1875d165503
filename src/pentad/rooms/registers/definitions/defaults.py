"""What a property gets when the writer gave nothing: its default or its constant, by the behaviour it declares.

`absent` fills what is missing or null, `falsy` also empty texts and lists, `always` overwrites whatever was given. A
default with `{{ }}` in it is a template over the object as the caller gave it.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.rooms.registers.definitions.evaluation import evaluate
from pentad.rooms.registers.definitions.expressions import Template, is_template, parse_template

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
    """A value, or the template that makes one."""

    value: Any
    behaviour: Behaviour = "absent"
    template: Template | None = None

    def applies(self, data: Mapping[str, Any], name: str) -> bool:
        given = data.get(name)
        if given is None or self.behaviour == "always":
            return True
        return self.behaviour == "falsy" and (given == "" or given == [])

    def make(self, data: Mapping[str, Any], now: float, facts: Mapping[str, Any]) -> Any:
        """A fresh value; None when the template finds nothing to say."""
        if self.template is not None:
            return evaluate(self.template, data, now=now, facts=facts)
        return deepcopy(self.value)


def read_default(node: Mapping[str, Any]) -> Default | None:
    """The default a property declares; a constant fills itself in. Raises ExpressionError for a broken template."""
    value = node.get("default")
    if value is None:
        return Default(node["const"]) if node.get("const") is not None else None
    given = node.get("defaultBehavior")
    behaviour = BEHAVIOURS.get(given, "absent") if given is None or isinstance(given, str | bool) else "absent"
    return Default(value, behaviour, parse_template(value) if is_template(value) else None)
