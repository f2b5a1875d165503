"""A part of the tree that exists for production and sandbox, with an entry for each environment."""

from collections.abc import Callable, Mapping, Sequence

from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Entry, Node, together
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment


def labelled(environment: Environment, entry: Mapping[str, Node]) -> dict[str, Node]:
    shown = {key: cell for key, cell in entry.items() if not key.startswith("_")}
    return {"environmentName": environment.name, "environmentType": environment.type, **shown}


def by_kind(
    known: Known, keys: Sequence[str], lists: Mapping[str, str], figures: Callable[[Environment], Entry]
) -> dict[str, dict[str, Node]]:
    """For production and sandbox the figures of all their environments together, and `details` of each."""
    found: dict[str, dict[str, Node]] = {}
    for kind, environments in known.kinds():
        if known.environments_cell.value is None:
            found[kind] = {key: Cell(None, known.environments_cell.state) for key in keys if not key.startswith("_")}
            found[kind]["details"] = []
            continue
        entries = [figures(environment) for environment in environments]
        whole = together(entries, keys, lists)
        found[kind] = {key: cell for key, cell in whole.items() if not key.startswith("_")}
        found[kind]["details"] = [labelled(*pair) for pair in zip(environments, entries, strict=True)]
    return found


def spread(cell: Cell, keys: Sequence[str]) -> Entry:
    """The same lack for every key."""
    return {key: Cell(None, cell.state) for key in keys}
