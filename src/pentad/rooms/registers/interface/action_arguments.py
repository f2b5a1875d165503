"""Which arguments each action of a tool reads. Any other is refused: ignoring it would answer another question."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments

Reads = Mapping[str, frozenset[str]]
"""By action, the names of its arguments as callers write them."""
_EVERYWHERE: Final = frozenset({"action", "register", "schema", "max_tokens", "reason"})
_FEW: Final = 6
"""Actions that a hint names."""


def reads(**actions: str) -> Reads:
    """A table of actions; the arguments of each as words."""
    return {action: frozenset(names.split()) for action, names in actions.items()}


def refuse_unread(arguments: Arguments, table: Reads, action: str, label: str = "") -> None:
    """InvalidInput for arguments that the action does not read. Empty values and defaults count as not given.

    `label` is what errors call the action.
    """
    taken = table[action]
    unread = [name for name in _given(arguments) if name not in taken and name not in _EVERYWHERE]
    if not unread:
        return
    hint = [f"It takes {', '.join(sorted(taken)) or 'nothing more'}."]
    for name in unread:
        homes = [other for other, names in table.items() if name in names]
        if 0 < len(homes) <= _FEW:
            hint.append(f"{name} goes with action={'|'.join(homes)}.")
    asked = label or f"action={action}"
    raise InvalidInput(
        f"{asked} does not take {' or '.join(unread)}.", hint=" ".join(hint), details={"arguments": unread}
    )


def _given(arguments: Arguments) -> Iterable[str]:
    for name, field in type(arguments).model_fields.items():
        value: Any = getattr(arguments, name)
        empty = value is None or value in ("", [], {})
        if name in arguments.model_fields_set and not empty and value != field.default:
            yield field.alias or name
