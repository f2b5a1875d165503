"""Tells two JSON values apart by meaning: lists of named things by name, lists of texts as sets, the rest by place."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.cid import canonical_json
from pentad.rooms.directory.translate.shapes import items_of, mapping_of, text_of

MOST: Final = 1_000
"""Differences within one module; what is more is not told one by one."""

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Inner:
    """One value that is different. None stands for a side that does not have it."""

    path: str
    before: Any = None
    after: Any = None
    kind: str = "changed"


def differences(before: Any, after: Any, path: str = "") -> list[Inner]:
    """What is different, at most as much as can be told."""
    found: list[Inner] = []
    for one in _compared(before, after, path):
        found.append(one)
        if len(found) > MOST:
            break
    return found


def _compared(before: Any, after: Any, path: str) -> Iterator[Inner]:
    if before is _ABSENT:
        yield Inner(path, None, after, "added")
    elif after is _ABSENT:
        yield Inner(path, before, None, "removed")
    elif isinstance(before, dict) and isinstance(after, dict):
        old, new = mapping_of(before), mapping_of(after)
        for key in sorted(old.keys() | new.keys()):
            yield from _compared(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(items_of(before), items_of(after), path)
    elif not same(before, after):
        yield Inner(path, before, after)


def same(before: Any, after: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but not true."""
    return canonical_json([before]) == canonical_json([after])


def _lists(before: list[Any], after: list[Any], path: str) -> Iterator[Inner]:
    if before == after:
        return
    for key in (_by_name, _by_id, _by_address):
        old, new = _keyed(before, key), _keyed(after, key)
        if old is not None and new is not None:
            for name in dict.fromkeys((*old, *new)):
                yield from _compared(old.get(name, _ABSENT), new.get(name, _ABSENT), f"{path}[{name}]")
            return
    if _plain(before) and _plain(after):
        old_texts, new_texts = set(before), set(after)
        yield from (Inner(path, item, None, "removed") for item in before if item not in new_texts)
        yield from (Inner(path, None, item, "added") for item in after if item not in old_texts)
        if old_texts == new_texts:
            yield Inner(path, before, after)
        return
    for index in range(max(len(before), len(after))):
        old_item = before[index] if index < len(before) else _ABSENT
        new_item = after[index] if index < len(after) else _ABSENT
        yield from _compared(old_item, new_item, f"{path}[{index}]")


def _by_name(item: dict[str, Any]) -> str | None:
    return text_of(item.get("name"))


def _by_id(item: dict[str, Any]) -> str | None:
    return text_of(item.get("id"))


def _by_address(item: dict[str, Any]) -> str | None:
    kind, address = text_of(item.get("type")), text_of(item.get("url")) or text_of(item.get("command"))
    return f"{kind} {address}" if kind and address else None


def _keyed(items: list[Any], key: Callable[[dict[str, Any]], str | None]) -> dict[str, Any] | None:
    """The items by a key that each has and no two share."""
    keyed: dict[str, Any] = {}
    for item in items:
        name = key(mapping_of(item))
        if name is None or name in keyed:
            return None
        keyed[name] = item
    return keyed


def _plain(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items)
