"""The effect of a change on an object, value by value. Added and removed values are shown in parts, not as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.pages import Difference
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.interface.console.values import Values

_MOST: Final = 60
_DEEPEST: Final = 8
_WITHIN: Final = " / "
_SIDES: Final = ("old", "new")


def differences(page: PairPage, changed: Mapping[str, Any], values: Values) -> Sequence[Difference]:
    """The differences of one change as the history stores them: old and new value by path."""
    found: list[Difference] = []
    for path, one in changed.items():
        if isinstance(one, str):
            found.append(Difference(one, "", ""))  # the number of further differences
            continue
        sides = cast("Mapping[str, Any]", one)
        name, *inside = path.split(".")
        label = _WITHIN.join([page.label(name), *inside])
        old, new = ({at: values.plain(part) for at, part in _parts(label, sides.get(side), 0)} for side in _SIDES)
        found += [Difference(at, old.get(at, ""), new.get(at, "")) for at in dict.fromkeys([*old, *new])]
    if len(found) <= _MOST:
        return found
    return [*found[:_MOST], Difference(f"and {len(found) - _MOST:,} more", "", "")]


def _parts(label: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """The plain values inside a value, each with its path; empty if there is no value."""
    if isinstance(value, dict):
        inside = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in cast("list[Any]", value)):
        inside = [(str(number), one) for number, one in enumerate(cast("list[Any]", value))]
    else:
        if value is not None:
            yield label, "empty" if value in ("", []) else value
        return
    if not inside:
        yield label, "empty"
    elif depth == _DEEPEST:
        yield label, "…"
    else:
        for name, one in inside:
            yield from _parts(f"{label}{_WITHIN}{name}", one, depth + 1)
