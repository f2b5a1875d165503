"""Resolves a `metricKey`: against the catalogue before anything is fetched, and against the tree afterwards.

Interpretations, in this order: a dotted path from the collector's root or from further out; one or more names at any
depth; wildcards (`*` for one step, `**` for any number) from the root, else at any depth. A key without a match is
refused with the nearest keys. Lists are not steps of a path; the names of a list entry (environment, region) become
labels of its values. `details` in a key selects the entries of lists only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest
from pentad.rooms.metrics.models import Info, Labels

LABELS: Final = frozenset({"businessGroup", "businessGroupId", "environmentName", "environmentType", "id"})
OWN_LABELS: Final = "labels"
"""The member of a list's entry with labels that the source chose."""
MOST_KEYS: Final = 100
LONGEST_KEY: Final = 300
STATES: Final = frozenset({"state", "states"})
"""Members that say why figures are missing or partial."""
_PASSED_OVER: Final = frozenset({"details"})
Steps = tuple[str, ...]
Matcher = Callable[[Steps], bool]


class Match(msgspec.Struct, frozen=True):
    """A place of the tree that a key matches."""

    path: str
    labels: Labels
    value: Any


def resolve_keys(info: Info, keys: Sequence[str]) -> tuple[str, ...]:
    """The catalogue keys that the given keys match, in catalogue order."""
    if len(keys) > MOST_KEYS:
        raise InvalidInput(f"There are {len(keys)} keys.", hint=f"Ask for at most {MOST_KEYS} at once.")
    resolved: set[str] = set()
    for key in keys:
        found = _matching_keys(info, key)
        if not found:
            raise _unknown_key(info, key)
        resolved.update(found)
    return tuple(metric.key for metric in info.catalogue if metric.key in resolved)


def select(tree: Any, info: Info, keys: Sequence[str]) -> tuple[Any, list[Match]]:
    """The tree pruned to the keys, and the matches as a list. Without a match the tree is None."""
    matches: list[Match] = []
    first = info.root[:1]
    tests = key_matchers(info, keys)

    def is_selected(path: Steps) -> bool:
        # Members next to the root, such as a date, are not figures, even if a wildcard matches them.
        return path[: len(first)] == first and any(test(path) for test in tests)

    return _prune(tree, (), (), is_selected, matches), matches


def key_matchers(info: Info, keys: Sequence[str]) -> list[Matcher]:
    """For each key a function that tests paths of the tree."""
    return [_matcher(info, key) for key in keys]


def flatten(tree: Any) -> list[Match]:
    """All leaves of a tree."""
    return list(_leaves(tree, (), ()))


def figure_key(path: str, root: Steps) -> str:
    """The catalogue key of a leaf's path."""
    return ".".join(step for step in path.split(".")[len(root) :] if step not in _PASSED_OVER)


def _matching_keys(info: Info, key: str) -> list[str]:
    """The catalogue keys of the first interpretation of `key` that matches any."""
    return _choose_interpretation(info, _split_key(key))[1]


def _matcher(info: Info, key: str) -> Matcher:
    """The interpretation of a key that matches the catalogue."""
    steps = _split_key(key)
    return list(_interpretations(info, steps))[_choose_interpretation(info, steps)[0]]


def _choose_interpretation(info: Info, steps: Steps) -> tuple[int, list[str]]:
    """Which interpretation matches catalogue keys, and these; the last if none does. Catalogues have no details."""
    bare = tuple(step for step in steps if step.casefold() not in _PASSED_OVER)
    whole = [(metric.key, (*info.root, *metric.key.split("."))) for metric in info.catalogue]
    for place, reads in enumerate(_interpretations(info, bare) if bare else ()):
        found = [name for name, path in whole if any(reads(path[:end]) for end in range(1, len(path) + 1))]
        if found:
            return place, found
    return -1, []


def _interpretations(info: Info, steps: Steps) -> Iterator[Matcher]:
    folded = tuple(step.casefold() for step in steps)
    if any("*" in step for step in steps):
        yield lambda path: any(_matches_pattern(folded, _casefold(path[start:])) for start in range(len(info.root) + 1))
        yield lambda path: _matches_pattern(("**", *folded), _casefold(path))
        return
    if not _is_bare_name(info, tuple(step for step in folded if step not in _PASSED_OVER)):
        yield lambda path: _at_root(info, steps, path)
        yield lambda path: _at_root(info, folded, _casefold(path))
    yield lambda path: path[-len(steps) :] == steps
    yield lambda path: _casefold(path)[-len(folded) :] == folded


def _is_bare_name(info: Info, folded: Steps) -> bool:
    """Whether the key is one name that may match at any depth; the name of a part at the root is not."""
    return len(folded) == 1 and not any(
        folded[0] in _casefold((*info.root, *metric.key.split(".")[:-1][:1])) for metric in info.catalogue
    )


def _at_root(info: Info, steps: Steps, path: Steps) -> bool:
    return any(path[start:] == steps for start in range(min(len(info.root), len(path)) + 1))


def _casefold(path: Steps) -> Steps:
    return tuple(step.casefold() for step in path)


def _matches_pattern(pattern: Steps, path: Steps) -> bool:
    """Whether a path matches a pattern with wildcards. Dynamic programming, so that no pattern is slow."""
    reach = [True, *([False] * len(path))]
    for step in pattern:
        row = [reach[0] and step == "**"]
        for place, name in enumerate(path):
            if step == "**":
                row.append(reach[place + 1] or row[place])
            else:
                row.append(reach[place] and _matches_step(step, name))
        reach = row
    return reach[-1]


def _matches_step(pattern: str, name: str) -> bool:
    """Whether one step matches; `*` inside it matches any characters."""
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


def _split_key(key: str) -> Steps:
    if len(key) > LONGEST_KEY:
        raise InvalidInput(f"A key is {len(key)} characters long.", hint=f"At most {LONGEST_KEY} are read.")
    given = (step for step in key.strip().split(".") if step)
    steps = tuple(step.casefold() if step.casefold() in _PASSED_OVER else step for step in given)
    if not steps:
        raise InvalidInput("A metric key is empty.", hint="listMetricKeys lists them.")
    return steps


def _unknown_key(info: Info, key: str) -> InvalidInput:
    names: dict[str, str] = {}
    for metric in info.catalogue:
        names.setdefault(metric.key, metric.key)
        names.setdefault(metric.key.rsplit(".", 1)[-1], metric.key)
    close = list(dict.fromkeys(names[name] for name in nearest(key, names, limit=10)))[:5]
    close = close or [metric.key for metric in info.catalogue[:5]]
    return InvalidInput(
        f"The collector {info.id!r} has no metric {key[:100]!r}.",
        hint=f"The nearest are: {', '.join(close)}. listMetricKeys lists all.",
        details={"nearest": close},
    )


def _prune(node: Any, path: Steps, labels: Labels, is_selected: Matcher, matches: list[Match]) -> Any:
    if isinstance(node, list):
        kept = [_prune(entry, path, labels, is_selected, matches) for entry in cast("list[Any]", node)]
        return [entry for entry in kept if entry is not None] or None
    if not isinstance(node, dict):
        return None
    entries = cast("dict[str, Any]", node)
    inner = _with_labels(entries, labels)
    kept_here: dict[str, Any] = {}
    beside = _non_figures(entries)
    for name, value in entries.items():
        if name in beside:
            continue
        here = (*path, name)
        if is_selected(here):
            kept_here[name] = value
            matches.append(Match(".".join(here), inner, value))
        elif (below := _prune(value, here, inner, is_selected, matches)) is not None:
            kept_here[name] = below
    if not kept_here:
        return None
    labelled = {name: entries[name] for name in entries if name in LABELS or name in beside - STATES}
    return {**labelled, **kept_here, **{name: entries[name] for name in sorted(STATES & beside)}}


def _leaves(node: Any, path: Steps, labels: Labels) -> Iterator[Match]:
    if isinstance(node, dict):
        entries = cast("dict[str, Any]", node)
        inner, beside = _with_labels(entries, labels), _non_figures(entries)
        for name, value in entries.items():
            if name not in beside:
                yield from _leaves(value, (*path, name), inner)
    elif isinstance(node, list) and any(isinstance(entry, (dict, list)) for entry in cast("list[Any]", node)):
        for entry in cast("list[Any]", node):
            yield from _leaves(entry, path, labels)
    else:
        yield Match(".".join(path), labels, node)


def _non_figures(entries: dict[str, Any]) -> frozenset[str]:
    """The members that are not figures: names of an entry, and states."""
    named = frozenset(name for name, value in entries.items() if name in LABELS and isinstance(value, str))
    if isinstance(entries.get(OWN_LABELS), dict):
        named |= {OWN_LABELS}
    return named | (STATES & entries.keys()) if named else named


def _with_labels(entries: dict[str, Any], outer: Labels) -> Labels:
    found = {name: value for name, value in entries.items() if name in LABELS and isinstance(value, str)}
    own = entries.get(OWN_LABELS)
    if isinstance(own, dict):
        found |= {str(name): str(value) for name, value in cast("dict[str, Any]", own).items()}
    return tuple(sorted({**dict(outer), **found}.items())) if found else outer


def split_list(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Values given as one text, as several between commas, or as a list; each once, in order."""
    values = given.split(",") if isinstance(given, str) else given or ()
    return tuple(dict.fromkeys(value.strip() for value in values if value.strip()))


def get_path(value: Any, *path: str) -> Any:
    """The value at a path of names, or None."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(name)
    return value


def put_path(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the value at a path of names; objects on the way are created."""
    *outer, last = path
    for name in outer:
        tree = tree.setdefault(name, {})
    tree[last] = value
