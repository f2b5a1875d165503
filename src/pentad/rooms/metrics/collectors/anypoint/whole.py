"""From figures with states to the tree the wire shows, and the same figures as samples.

A value that could not be had is null in the tree, and `states` beside the figures says why; in an entry of one
environment it is `state`. What was not asked for is not there.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Node, worst
from pentad.rooms.metrics.collectors.anypoint.tree import Group
from pentad.rooms.metrics.engine.keys import LABELS
from pentad.rooms.metrics.model import Labels, Metric, Problem, Sample

Steps = tuple[str, ...]


class Drawing:
    """One group's figures on their way into the tree. Only the metrics that are wanted are drawn."""

    def __init__(self, metrics: Mapping[str, Metric], group: Group) -> None:
        self._metrics = metrics
        self._group: Labels = (("businessGroup", group.name), ("businessGroupId", group.id))
        self.samples: list[Sample] = []
        self.states: dict[str, str] = {}

    def drawn(self, node: Node) -> Any:
        """The tree of the figures that are wanted; None when there are none."""
        return self._node(node, (), self._group, in_list=False)

    def _node(self, node: Node, path: Steps, labels: Labels, *, in_list: bool) -> Any:
        if isinstance(node, Cell):
            return self._cell(node, ".".join(path), labels, in_list=in_list)
        if isinstance(node, list):
            entries = [self._entry(entry, path, labels) for entry in cast("list[Node]", node)]
            return [entry for entry in entries if entry is not None]
        found: dict[str, Any] = {}
        wanted = False
        for name, inner in cast("dict[str, Node]", node).items():
            if isinstance(inner, str):
                found[name] = inner
                continue
            if isinstance(inner, Cell) and ".".join((*path, name)) not in self._metrics:
                continue
            value = self._node(inner, path if name == "details" else (*path, name), labels, in_list=in_list)
            is_empty_list = isinstance(inner, list) and (wanted or self._has_below((*path, name)))
            if isinstance(inner, Cell) or value or is_empty_list:
                found[name] = value
                wanted = True
        return found if wanted else None

    def _has_below(self, path: Steps) -> bool:
        start = ".".join(path) + "."
        return any(key.startswith(start) for key in self._metrics)

    def _entry(self, entry: Node, path: Steps, labels: Labels) -> Any:
        """One of a list: what names it becomes a label of its figures."""
        members = cast("dict[str, Node]", entry)
        named = {name: value for name, value in members.items() if name in LABELS and isinstance(value, str)}
        value = self._node(entry, path, tuple(sorted({**dict(labels), **named}.items())), in_list=True)
        if value is None:
            return None
        lacking = [cell for cell in _cells(entry, path, self._metrics) if cell.state != "ok"]
        return {**value, "state": worst(lacking)} if lacking else value

    def _cell(self, cell: Cell, key: str, labels: Labels, *, in_list: bool) -> Any:
        metric = self._metrics.get(key)
        if metric is not None:
            sample = Sample(key=key, labels=labels, value=cell.value, unit=metric.unit, state=cell.state)
            self.samples.append(sample)
            if cell.state != "ok" and not in_list:
                self.states[key] = cell.state
        return cell.value


def _cells(node: Node, path: Steps, metrics: Mapping[str, Metric]) -> list[Cell]:
    if isinstance(node, Cell):
        return [node] if ".".join(path) in metrics else []
    if not isinstance(node, dict):
        return []
    return [
        cell for name, inner in cast("dict[str, Node]", node).items() for cell in _cells(inner, (*path, name), metrics)
    ]


def head(group: Group, now: float) -> dict[str, Any]:
    """What every group's entry begins with."""
    moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"date": moment, "businessGroup": group.name, "businessGroupId": group.id}


def rooted(root: Steps, value: Any) -> dict[str, Any]:
    """A part where it stands in the tree."""
    for name in reversed(root):
        value = {name: value}
    return value


def errors(group: Group, problems: list[Problem]) -> list[str]:
    """What went wrong in a group, each once, in words."""
    mine = [problem for problem in problems if problem.scope.split("/", 1)[0] == group.id]
    return list(dict.fromkeys(f"{problem.scope}: {problem.call}: {problem.message}" for problem in mine))
