"""What a `metricKey` means, against a catalogue before anything is fetched and against the tree afterwards.

In this order: a dotted path, from the collector's root or from further out; a name, or names, at any depth; wildcards,
`*` for one step and `**` for any number, from the root or else at any depth. A key that means nothing is refused with
the nearest ones. Steps through lists are not part of a path, and what names an entry of a list (its environment, its
region) stays beside the value; who writes `details` means those entries alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest
from pentad.rooms.metrics.model import Info, Labels

LABELS: Final = frozenset({"businessGroup", "businessGroupId", "environmentName", "environmentType", "id"})
MOST_KEYS: Final = 100
LONGEST_KEY: Final = 300
STATES: Final = frozenset({"state", "states"})
"""What stands beside labels and figures to say why a figure has no value, or not all of it."""
_PASSED_OVER: Final = frozenset({"details"})
Steps = tuple[str, ...]
Reading = Callable[[Steps], bool]


class Match(msgspec.Struct, frozen=True):
    """One place of the tree that a key means."""

    path: str
    labels: Labels
    value: Any


def resolved(info: Info, keys: Sequence[str]) -> tuple[str, ...]:
    """The keys of the catalogue that are meant; in the order of the catalogue, each once."""
    if len(keys) > MOST_KEYS:
        raise InvalidInput(f"There are {len(keys)} keys.", hint=f"Ask for at most {MOST_KEYS} at once.")
    meant: set[str] = set()
    for key in keys:
        found = _meant(info, key)
        if not found:
            raise _unknown(info, key)
        meant.update(found)
    return tuple(metric.key for metric in info.catalogue if metric.key in meant)


def select(tree: Any, info: Info, keys: Sequence[str]) -> tuple[Any, list[Match]]:
    """The tree with nothing but what the keys mean, and the same as a list. Without a match the tree is None."""
    matches: list[Match] = []
    first = info.root[:1]
    tests = readings(info, keys)

    def is_meant(path: Steps) -> bool:
        # What stands beside the root, such as a date, is no figure, whatever a wildcard fits.
        return path[: len(first)] == first and any(test(path) for test in tests)

    return _pruned(tree, (), (), is_meant, matches), matches


def readings(info: Info, keys: Sequence[str]) -> list[Reading]:
    """For each key a test of paths of the tree."""
    return [_test(info, key) for key in keys]


def flat(tree: Any) -> list[Match]:
    """Every value of a tree that is not itself a tree."""
    return list(_leaves(tree, (), ()))


def _meant(info: Info, key: str) -> list[str]:
    """Keys of the catalogue by the first reading of `key` that finds any."""
    return _settled(info, _steps(key))[1]


def _test(info: Info, key: str) -> Reading:
    """The reading of a key that the catalogue settles on, as a test of a path of the tree."""
    steps = _steps(key)
    return list(_readings(info, steps))[_settled(info, steps)[0]]


def _settled(info: Info, steps: Steps) -> tuple[int, list[str]]:
    """Which reading finds keys of the catalogue, and which keys; the last if none does. A catalogue has no details."""
    bare = tuple(step for step in steps if step.casefold() not in _PASSED_OVER)
    whole = [(metric.key, (*info.root, *metric.key.split("."))) for metric in info.catalogue]
    for place, reads in enumerate(_readings(info, bare) if bare else ()):
        found = [name for name, path in whole if any(reads(path[:end]) for end in range(1, len(path) + 1))]
        if found:
            return place, found
    return -1, []


def _readings(info: Info, steps: Steps) -> Iterator[Reading]:
    folded = tuple(step.casefold() for step in steps)
    if any("*" in step for step in steps):
        yield lambda path: any(_fits(folded, _fold(path[start:])) for start in range(len(info.root) + 1))
        yield lambda path: _fits(("**", *folded), _fold(path))
        return
    if not _is_bare_name(info, tuple(step for step in folded if step not in _PASSED_OVER)):
        yield lambda path: _at_root(info, steps, path)
        yield lambda path: _at_root(info, folded, _fold(path))
    yield lambda path: path[-len(steps) :] == steps
    yield lambda path: _fold(path)[-len(folded) :] == folded


def _is_bare_name(info: Info, folded: Steps) -> bool:
    """Whether it is one step that may be meant at any depth; a part of the tree that begins at the root is not."""
    return len(folded) == 1 and not any(
        folded[0] in _fold((*info.root, *metric.key.split(".")[:-1][:1])) for metric in info.catalogue
    )


def _at_root(info: Info, steps: Steps, path: Steps) -> bool:
    return any(path[start:] == steps for start in range(min(len(info.root), len(path)) + 1))


def _fold(path: Steps) -> Steps:
    return tuple(step.casefold() for step in path)


def _fits(pattern: Steps, path: Steps) -> bool:
    """Whether a path is one a pattern with wildcards means; row by row, so that no pattern is slow."""
    reach = [True, *([False] * len(path))]
    for step in pattern:
        row = [reach[0] and step == "**"]
        for place, name in enumerate(path):
            if step == "**":
                row.append(reach[place + 1] or row[place])
            else:
                row.append(reach[place] and _same(step, name))
        reach = row
    return reach[-1]


def _same(pattern: str, name: str) -> bool:
    """One step; a star inside a step stands for any letters."""
    if "*" not in pattern:
        return pattern == name
    first, *middle, last = pattern.split("*")
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    place, end = len(first), len(name) - len(last)
    for part in middle:
        place = name.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True


def _steps(key: str) -> Steps:
    if len(key) > LONGEST_KEY:
        raise InvalidInput(f"A key is {len(key)} characters long.", hint=f"At most {LONGEST_KEY} are read.")
    given = (step for step in key.strip().split(".") if step)
    steps = tuple(step.casefold() if step.casefold() in _PASSED_OVER else step for step in given)
    if not steps:
        raise InvalidInput("A metric key is empty.", hint="listMetricKeys names those there are.")
    return steps


def _unknown(info: Info, key: str) -> InvalidInput:
    names: dict[str, str] = {}
    for metric in info.catalogue:
        names.setdefault(metric.key, metric.key)
        names.setdefault(metric.key.rsplit(".", 1)[-1], metric.key)
    close = list(dict.fromkeys(names[name] for name in nearest(key, names, limit=10)))[:5]
    close = close or [metric.key for metric in info.catalogue[:5]]
    return InvalidInput(
        f"The collector {info.id!r} has no metric {key[:100]!r}.",
        hint=f"The nearest are: {', '.join(close)}. listMetricKeys names all.",
        details={"nearest": close},
    )


def _pruned(node: Any, path: Steps, labels: Labels, is_meant: Reading, matches: list[Match]) -> Any:
    if isinstance(node, list):
        kept = [_pruned(entry, path, labels, is_meant, matches) for entry in cast("list[Any]", node)]
        return [entry for entry in kept if entry is not None] or None
    if not isinstance(node, dict):
        return None
    entries = cast("dict[str, Any]", node)
    inner = _labelled(entries, labels)
    kept_here: dict[str, Any] = {}
    beside = _beside(entries)
    for name, value in entries.items():
        if name in beside:
            continue
        here = (*path, name)
        if is_meant(here):
            kept_here[name] = value
            matches.append(Match(".".join(here), inner, value))
        elif (below := _pruned(value, here, inner, is_meant, matches)) is not None:
            kept_here[name] = below
    if not kept_here:
        return None
    labelled = {name: entries[name] for name in entries if name in LABELS}
    return {**labelled, **kept_here, **{name: entries[name] for name in sorted(STATES & beside)}}


def _leaves(node: Any, path: Steps, labels: Labels) -> Iterator[Match]:
    if isinstance(node, dict):
        entries = cast("dict[str, Any]", node)
        inner, beside = _labelled(entries, labels), _beside(entries)
        for name, value in entries.items():
            if name not in beside:
                yield from _leaves(value, (*path, name), inner)
    elif isinstance(node, list) and any(isinstance(entry, (dict, list)) for entry in cast("list[Any]", node)):
        for entry in cast("list[Any]", node):
            yield from _leaves(entry, path, labels)
    else:
        yield Match(".".join(path), labels, node)


def _beside(entries: dict[str, Any]) -> frozenset[str]:
    """The members that are no figures: what names an entry, and what says how good its figures are."""
    named = frozenset(name for name, value in entries.items() if name in LABELS and isinstance(value, str))
    return named | (STATES & entries.keys()) if named else named


def _labelled(entries: dict[str, Any], outer: Labels) -> Labels:
    found = {name: value for name, value in entries.items() if name in LABELS and isinstance(value, str)}
    return tuple(sorted({**dict(outer), **found}.items())) if found else outer


def joined(keys: str | Iterable[str]) -> tuple[str, ...]:
    """Keys as they may be given: one, several between commas, or a list."""
    given = keys.split(",") if isinstance(keys, str) else keys
    return tuple(dict.fromkeys(key.strip() for key in given if key.strip()))
