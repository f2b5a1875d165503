"""Migrates locators between OASF versions.

Up to 0.8 a locator has one URL, a size and a digest; from 1.0 on it has a list of URLs and neither of the others.
Values without a place in the other form are kept in the locator's annotations and restored from there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from pentad.kernel.json_values import as_object, as_objects, as_texts, text_or_none
from pentad.rooms.directory.translate.losses import Loss

TYPE_NOTE: Final = "oasf.type"
DIGEST_NOTE: Final = "oasf.digest"
SIZE_NOTE: Final = "oasf.size"
_WIDER: Final = {"docker_image": "container_image", "python_package": "package"}
_NARROWER: Final = {"container_image": "docker_image"}
_OLD: Final = frozenset({"unspecified", "helm_chart", "docker_image", "python_package", "source_code", "binary"})
_NEW: Final = frozenset({"unspecified", "helm_chart", "container_image", "package", "source_code", "binary", "url"})
_PYTHON_HOSTS: Final = ("pypi.org", "files.pythonhosted.org")


@dataclass(slots=True)
class _Locator:
    path: str
    kind: str
    urls: list[str]
    size: Any = None
    digest: Any = None
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


def migrate_locators(value: Any, after: str, losses: list[Loss], path: str = "locators") -> list[dict[str, Any]]:
    """The locators of a record in another version."""
    locators = [_read(item, f"{path}[{index}]") for index, item in enumerate(as_objects(value))]
    if after >= "1":
        return [_new(locator) for locator in _merged(locators, losses)]
    old_locators = [one for locator in locators for one in _old(locator, after, losses)]
    return [one for _, one in (old_locators if after == "0.3.1" else _first_of_each_type(old_locators, losses))]


def migrate_locator(value: dict[str, Any], after: str, losses: list[Loss], path: str) -> dict[str, Any]:
    """A single locator inside a module."""
    locator = _read(value, path)
    if after >= "1":
        return _new(locator)
    first, *rest = _old(locator, after, losses)
    losses.extend(Loss(f"{path}.urls", "a locator of this version has one address") for _ in rest)
    return first[1]


def _read(item: dict[str, Any], path: str) -> _Locator:
    notes = dict(as_object(item.get("annotations")))
    kind = (text_or_none(notes.pop(TYPE_NOTE, None)) or text_or_none(item.get("type")) or "unspecified").replace(
        "-", "_"
    )
    size, digest = item.get("size"), item.get("digest")
    noted_size = notes.pop(SIZE_NOTE, None)
    if size is None and isinstance(noted_size, str) and noted_size.isascii() and noted_size.isdigit():
        size = int(noted_size)
    if digest is None:
        digest = notes.pop(DIGEST_NOTE, None)
    urls = as_texts(item.get("urls")) or as_texts([item.get("url")])
    return _Locator(path, kind, urls, size, digest, notes)


def _new(locator: _Locator) -> dict[str, Any]:
    kind = _WIDER.get(locator.kind, locator.kind)
    notes = dict(locator.notes)
    if kind == "package" != locator.kind or kind not in _NEW:
        notes[TYPE_NOTE] = locator.kind
    if locator.size is not None:
        notes[SIZE_NOTE] = str(locator.size)
    if locator.digest is not None:
        notes[DIGEST_NOTE] = str(locator.digest)
    locator_json: dict[str, Any] = {
        "type": kind if kind in _NEW else "unspecified",
        "urls": list(dict.fromkeys(locator.urls)),
    }
    return locator_json | ({"annotations": notes} if notes else {})


def _merged(locators: Iterable[_Locator], losses: list[Loss]) -> list[_Locator]:
    """One locator per type, with all its URLs."""
    kept: dict[str, _Locator] = {}
    for locator in locators:
        kind = _WIDER.get(locator.kind, locator.kind)
        first = kept.setdefault(kind if kind in _NEW else "unspecified", locator)
        if first is locator:
            continue
        first.urls += locator.urls
        losses += [
            Loss(f"{locator.path}.{name}", f"{first.path} is of the same type and has its own")
            for name in ("size", "digest", "notes")
            if getattr(locator, name) and getattr(locator, name) != getattr(first, name)
        ]
        if locator.kind != first.kind:
            losses.append(Loss(f"{locator.path}.type", f"it is one with {first.path}, which is a {first.kind}"))
    return list(kept.values())


def _old(locator: _Locator, after: str, losses: list[Loss]) -> list[tuple[str, dict[str, Any]]]:
    """One locator per URL, with its path."""
    kind = _NARROWER.get(locator.kind, locator.kind)
    notes = dict(locator.notes)
    if kind == "package" and locator.urls and all(urlsplit(url).hostname in _PYTHON_HOSTS for url in _split(locator)):
        kind = "python_package"
    if kind not in _OLD:
        notes[TYPE_NOTE] = kind
        kind = "unspecified"
    more = {"size": locator.size, "digest": locator.digest, "annotations": notes}
    spelled = kind.replace("_", "-") if after == "0.3.1" else kind
    return [
        (locator.path, {"type": spelled, "url": url, **{key: item for key, item in more.items() if item}})
        for url in locator.urls or [""]
    ]


def _split(locator: _Locator) -> list[str]:
    """The URLs, with malformed ones empty: they are not package URLs."""
    taken: list[str] = []
    for url in locator.urls:
        try:
            urlsplit(url)
        except ValueError:
            taken.append("")
        else:
            taken.append(url)
    return taken


def _first_of_each_type(
    old_locators: list[tuple[str, dict[str, Any]]], losses: list[Loss]
) -> list[tuple[str, dict[str, Any]]]:
    """The first locator of each type: a record of this version has one locator per type, with one URL."""
    kept: dict[str, tuple[str, dict[str, Any]]] = {}
    for path, locator in old_locators:
        first = kept.setdefault(locator["type"], (path, locator))
        if first[1] is not locator:
            reason = f"a record of this version has one locator of type {locator['type']}; {locator['url']} is left out"
            losses.append(Loss(path, reason))
    return list(kept.values())
