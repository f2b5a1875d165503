"""An answer as flat rows: name, value, business group, date, group, environment. Missing values have no row.

The rows of an Anypoint organisation have promised names and a promised order (`row_names.json`). The rows of every
other collector are named after its keys, with labels in brackets.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import Scalar, Snapshot

NOT_APPLICABLE: Final = "NA"
ZERO: Final = "0"
"""The path of rows that are always zero in the Metrics Toolkit, because it reads a path its tree does not have."""

_TYPES: Final = (("production", "Production"), ("sandbox", "Sandbox"))
Tree = Mapping[str, Any]


class Part(msgspec.Struct, frozen=True):
    """Rows of one part of the tree: their names, with the path of each value below `root`.

    `only` says that just Pentad's own rows have this part, or just the toolkit's.
    """

    group: str
    root: str
    rows: dict[str, str]
    type: str = NOT_APPLICABLE
    only: Literal["ours", "legacy"] | None = None


class RowNames(msgspec.Struct, frozen=True):
    """The names of all rows. `environments` holds sets of parts whose rows are listed one environment after the other,
    production first. In their roots a star stands for the environment's type; without one the type is the last step."""

    organisation: tuple[Part, ...]
    environments: tuple[tuple[Part, ...], ...]
    benefits: dict[str, str]


@cache
def row_names() -> RowNames:
    from importlib.resources import files  # slow to import

    return msgspec.json.decode(
        files("pentad.rooms.metrics.loaders").joinpath("row_names.json").read_bytes(), type=RowNames
    )


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One figure."""

    name: str
    value: Scalar
    business_group: str
    date: str
    group: str
    environment_type: str = NOT_APPLICABLE
    environment_name: str = NOT_APPLICABLE


def snapshot_rows(snapshot: Snapshot, title: str, *, legacy: bool = False) -> list[Row]:
    """All figures of an answer in order; with `legacy` the rows an organisation has in the toolkit."""
    found: list[Row] = []
    for tree in business_groups(snapshot.tree):
        date = str(tree.get("date") or iso(snapshot.as_of))
        partial = frozenset[PartialFigure]() if legacy else _partial_figures(snapshot, tree)
        group = _Group(str(tree["businessGroup"]), date, partial)
        found += _organisation_rows(tree, group, "ours" if legacy else "legacy")
    if found or legacy:
        return found
    known = [one for one in snapshot.samples if one.value is not None and one.state != "partial"]
    return [_sample_row(snapshot, title, one.key, one.labels, one.value) for one in known]


PartialFigure = tuple[str, str]
"""The key of a figure of a group, and the environment or N/A."""


@dataclass(frozen=True, slots=True)
class _Group:
    """What the rows of a group share. A row has no state, so partial figures have no row."""

    name: str
    date: str
    partial: frozenset[PartialFigure]

    def has_whole(self, path: str, environment: str) -> bool:
        """Whether the figure at this path of the tree is known and not partial."""
        return not any(
            place == environment and (path == key or path.endswith(f".{key}")) for key, place in self.partial
        )


def _partial_figures(snapshot: Snapshot, tree: Tree) -> frozenset[PartialFigure]:
    labels = [(one.key, dict(one.labels)) for one in snapshot.samples if one.state == "partial"]
    return frozenset(
        (key, named.get("environmentName", NOT_APPLICABLE))
        for key, named in labels
        if named.get("businessGroupId") == tree.get("businessGroupId")
    )


def business_groups(tree: Any) -> list[Tree]:
    """The entries of business groups in a tree; none if it has another shape."""
    if not isinstance(tree, list):
        return []
    entries = cast("list[Any]", tree)
    return [cast("Tree", entry) for entry in entries if isinstance(entry, dict) and "businessGroup" in entry]


def benefit_rows(answers: Iterable[Tree], now: float) -> list[Row]:
    """The rows of the platform benefits."""
    return [
        Row(
            name,
            value,
            str(tree.get("businessGroup", NOT_APPLICABLE)),
            str(tree.get("date") or iso(now)),
            "Platform Benefits",
        )
        for tree in answers
        for name, path in row_names().benefits.items()
        if (value := _scalar(get_path(tree, *path.split(".")))) is not None
    ]


def _sample_row(snapshot: Snapshot, title: str, key: str, labels: Iterable[tuple[str, str]], value: Scalar) -> Row:
    labels_text = ", ".join(f"{name}={text}" for name, text in labels)
    return Row(
        f"{key}[{labels_text}]" if labels_text else key,
        value,
        snapshot.scope or NOT_APPLICABLE,
        iso(snapshot.as_of),
        title,
    )


def _organisation_rows(tree: Tree, group: _Group, without: str) -> Iterator[Row]:
    for part in row_names().organisation:
        if part.only != without:
            yield from _part_rows(get_path(tree, *part.root.split(".")), part, group, part.root, part.type)
    for parts in row_names().environments:
        together = [part for part in parts if part.only != without]
        for step, kind in _TYPES:
            for number in range(max((len(_details(tree, part, step)) for part in together), default=0)):
                for part in together:
                    yield from _environment_rows(tree, part, step, number, group, kind)


def _environment_rows(tree: Tree, part: Part, step: str, number: int, group: _Group, kind: str) -> Iterator[Row]:
    details = _details(tree, part, step)
    if number < len(details):
        entry = details[number]
        environment = str(entry.get("environmentName") or NOT_APPLICABLE)
        yield from _part_rows(entry, part, group, _environment_root(part, step), kind, environment)


def _environment_root(part: Part, step: str) -> str:
    return part.root.replace("*", step) if "*" in part.root else f"{part.root}.{step}"


def _details(tree: Tree, part: Part, step: str) -> list[Tree]:
    found = get_path(tree, *_environment_root(part, step).split("."), "details")
    return cast("list[Tree]", found) if isinstance(found, list) else []


def _part_rows(
    node: Any, part: Part, group: _Group, root: str, kind: str, environment: str = NOT_APPLICABLE
) -> Iterator[Row]:
    for row, path in part.rows.items():
        value = 0 if path == ZERO else _scalar(get_path(node, *path.split(".")))
        if value is not None and group.has_whole(f"{root}.{path}", environment):
            yield Row(row, value, group.name, group.date, part.group, kind, environment)


def _scalar(value: Any) -> Scalar:
    """A figure; the entries of a list are joined with blanks."""
    if isinstance(value, list):
        return " ".join(str(one) for one in cast("list[Any]", value))
    return value if isinstance(value, int | float | str) else None
