"""An answer as flat rows: name, value, business group, date, group, environment. What has no value has no row.

An Anypoint organisation has rows of promised names; every other collector's are its keys, with labels in brackets.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.rooms.metrics.loaders.row_names import BENEFITS, ENVIRONMENTS, ORGANISATION, ZERO, Named, Part
from pentad.rooms.metrics.model import Scalar, Snapshot

NOT_APPLICABLE: Final = "NA"
_TYPES: Final = (("production", "Production"), ("sandbox", "Sandbox"))
Tree = Mapping[str, Any]


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One figure."""

    name: str
    value: Scalar
    business_group: str
    date: str
    group: str
    environment_type: str = NOT_APPLICABLE
    environment_name: str = NOT_APPLICABLE


def rows_of(snapshot: Snapshot, title: str, *, legacy: bool = False) -> list[Row]:
    """All figures of an answer, in their order; for `legacy` the rows an organisation had in the toolkit."""
    found: list[Row] = []
    for tree in organisations(snapshot.tree):
        date = str(tree.get("date") or iso(snapshot.as_of))
        found += _organisation(tree, str(tree["businessGroup"]), date, "ours" if legacy else "legacy")
    known = [one for one in snapshot.samples if one.value is not None]
    return found or [_plain(snapshot, title, one.key, one.labels, one.value) for one in known]


def organisations(tree: Any) -> list[Tree]:
    """The business groups of a tree; none where it is not of that kind."""
    if not isinstance(tree, list):
        return []
    entries = cast("list[Any]", tree)
    return [cast("Tree", entry) for entry in entries if isinstance(entry, dict) and "businessGroup" in entry]


def benefit_rows(answers: Iterable[Tree], now: float) -> list[Row]:
    """What the benefits of a platform amount to."""
    return [
        Row(
            named.name,
            value,
            str(tree.get("businessGroup", NOT_APPLICABLE)),
            str(tree.get("date") or iso(now)),
            "Platform Benefits",
        )
        for tree in answers
        for named in BENEFITS
        if (value := _scalar(_at(tree, named.path))) is not None
    ]


def _plain(snapshot: Snapshot, title: str, key: str, labels: Iterable[tuple[str, str]], value: Scalar) -> Row:
    told = ", ".join(f"{name}={text}" for name, text in labels)
    return Row(f"{key}[{told}]" if told else key, value, snapshot.scope or NOT_APPLICABLE, iso(snapshot.as_of), title)


def _organisation(tree: Tree, name: str, date: str, without: str) -> Iterator[Row]:
    for part in ORGANISATION:
        if part.only != without:
            yield from _told(_at(tree, part.root), part, part.rows, name, date, part.type)
    for parts in ENVIRONMENTS:
        together = [part for part in parts if part.only != without]
        for step, kind in _TYPES:
            for number in range(max((len(_details(tree, part, step)) for part in together), default=0)):
                for part in together:
                    yield from _environment(tree, part, step, number, name, date, kind)


def _environment(tree: Tree, part: Part, step: str, number: int, name: str, date: str, kind: str) -> Iterator[Row]:
    details = _details(tree, part, step)
    if number < len(details):
        entry = details[number]
        yield from _told(entry, part, part.rows, name, date, kind, str(entry.get("environmentName") or NOT_APPLICABLE))


def _details(tree: Tree, part: Part, step: str) -> list[Tree]:
    path = part.root.replace("*", step) if "*" in part.root else f"{part.root}.{step}"
    found = _at(tree, f"{path}.details")
    return cast("list[Tree]", found) if isinstance(found, list) else []


def _told(
    node: Any, part: Part, rows: Iterable[Named], name: str, date: str, kind: str, environment: str = NOT_APPLICABLE
) -> Iterator[Row]:
    for named in rows:
        value = 0 if named.path == ZERO else _scalar(_at(node, named.path))
        if value is not None:
            yield Row(named.name, value, name, date, part.group, kind, environment)


def _at(node: Any, path: str) -> Any:
    for step in path.split("."):
        if not isinstance(node, Mapping):
            return None
        node = cast("Tree", node).get(step)
    return node


def _scalar(value: Any) -> Scalar:
    """A figure; lists are told with blanks between their parts."""
    if isinstance(value, list):
        return " ".join(str(one) for one in cast("list[Any]", value))
    return value if isinstance(value, int | float | str) else None
