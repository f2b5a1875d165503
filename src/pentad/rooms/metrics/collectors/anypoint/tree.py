"""Business groups and their environments, and which of them a question is about.

A group is found by its id, by its name where only one has it, or by its path from the top. An ignored group is left
out; what is below it is not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest

DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class Group:
    id: str
    name: str
    path: tuple[str, ...]
    """Its name after the names of those above it."""
    chain: tuple[str, ...]
    """The same with ids."""
    entitlements: Mapping[str, Any]
    is_top: bool = False
    """Whether it is known to have no group above it."""


@dataclass(frozen=True, slots=True)
class Environment:
    id: str
    name: str
    is_production: bool

    @property
    def type(self) -> str:
        return "Production" if self.is_production else "Sandbox"

    def is_called(self, word: str) -> bool:
        """By id, name or type, whatever the case."""
        folded = word.casefold()
        return folded in (self.id.casefold(), self.name.casefold(), self.type.casefold())


def groups(hierarchy: Any) -> list[Group]:
    """All groups of a hierarchy, each before those below it."""
    found: list[Group] = []
    waiting: list[tuple[Any, tuple[str, ...], tuple[str, ...]]] = [(hierarchy, (), ())]
    while waiting:
        node, above, chain = waiting.pop()
        if not isinstance(node, dict) or len(above) > DEEPEST:
            continue
        entry = cast("dict[str, Any]", node)
        name = str(entry.get("name") or entry.get("id") or "")
        path, ids = (*above, name), (*chain, str(entry.get("id")))
        granted = entry.get("entitlements")
        rights = cast("dict[str, Any]", granted) if isinstance(granted, dict) else {}
        found.append(Group(ids[-1], name, path, ids, rights, entry.get("isMaster") is True))
        waiting += [(child, path, ids) for child in reversed(cast("list[Any]", entry.get("subOrganizations") or []))]
    return found


def chosen(found: Sequence[Group], bg: str | None, *, recursive: bool, ignored: Iterable[str] = ()) -> list[Group]:
    """The group that is asked for and, unless told otherwise, all below it."""
    if not found:
        return []
    top = found[0] if bg is None else _named(found, bg)
    below = [group for group in found if group.chain[: len(top.chain)] == top.chain] if recursive else [top]
    left_out = set(ignored)
    return [group for group in below if group.id not in left_out]


def _named(found: Sequence[Group], bg: str) -> Group:
    folded = bg.casefold()
    steps = tuple(step.strip().casefold() for step in bg.strip("/").split("/"))
    by_id = [group for group in found if group.id.casefold() == folded]
    by_path = [group for group in found if tuple(step.casefold() for step in group.path) == steps]
    by_name = [group for group in found if group.name.casefold() == folded]
    for reading in (by_id, by_path, by_name):
        if len(reading) == 1:
            return reading[0]
        if reading:
            paths = ", ".join("/".join(group.path) for group in reading[:5])
            raise InvalidInput(
                f"Several business groups are called {bg[:80]!r}.", hint=f"Name one by its path: {paths}."
            )
    close = nearest(bg, ["/".join(group.path) for group in found] + [group.name for group in found], limit=5)
    known = ", ".join(close or ["/".join(group.path) for group in found[:5]])
    raise InvalidInput(f"There is no business group {bg[:80]!r} here.", hint=f"The nearest: {known}.")


def environments(answer: Any, ignored: Iterable[str] = ()) -> list[Environment]:
    """Those of one group that count: all but the ones for designing, and the ignored ones."""
    left_out = set(ignored)
    return [
        Environment(str(entry["id"]), str(entry.get("name") or entry["id"]), bool(entry.get("isProduction")))
        for entry in cast("list[dict[str, Any]]", answer)
        if entry.get("type") != "design" and str(entry.get("id")) not in left_out
    ]
