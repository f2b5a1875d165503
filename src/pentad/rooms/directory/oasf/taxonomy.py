"""The classes of skills, domains and modules of each version, read from the embedded tables on first use.

A class has an id, a full name (`technology/networking`) and a short name (`networking`), each unique within one family
and version. Ids differ between versions; `map_class` maps a class to another version.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal

from pentad.rooms.directory.oasf.versions import Family, embedded_version, table_version

_LINE: Final = re.compile(r"( *)(\d+)([*!]?) (\S+) (.+)")


@dataclass(frozen=True, slots=True)
class ClassEntry:
    """One class. A grouping class only groups others and cannot be used in a record."""

    id: int
    name: str
    caption: str
    grouping: bool = False
    deprecated: bool = False

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def parent(self) -> str | None:
        """The parent's full name."""
        return self.name.rpartition("/")[0] or None


class Taxonomy:
    """The classes of one family in one version."""

    __slots__ = ("_children", "_ids", "_names", "all", "family", "version")

    def __init__(self, version: str, family: Family, entries: Sequence[ClassEntry]) -> None:
        self.version = version
        self.family = family
        self.all = tuple(entries)
        self._ids: dict[float, ClassEntry] = {entry.id: entry for entry in entries}
        self._names = {entry.short: entry for entry in entries} | {entry.name: entry for entry in entries}
        self._children: dict[str | None, list[ClassEntry]] = {}
        for entry in sorted(entries, key=lambda entry: entry.name.encode()):
            self._children.setdefault(entry.parent, []).append(entry)

    def by_id(self, number: float) -> ClassEntry | None:
        return self._ids.get(number)

    def by_name(self, name: str) -> ClassEntry | None:
        """By full or short name."""
        return self._names.get(name)

    def children(self, name: str | None = None) -> list[ClassEntry]:
        """The direct children of a class, or the top classes; empty if there are none or the class is unknown."""
        if name is None:
            return list(self._children[None])
        entry = self._names.get(name)
        return [] if entry is None else list(self._children.get(entry.name, ()))

    def parents(self, entry: ClassEntry) -> list[ClassEntry]:
        """From the top class down to the direct parent."""
        parts = entry.name.split("/")
        return [self._names["/".join(parts[:length])] for length in range(1, len(parts))]


def taxonomy(version: str, family: Family) -> Taxonomy:
    """The classes of a version, or of the embedded version that serves it (0.7.0 for 0.7.5)."""
    served = embedded_version(version)
    if served is None:
        raise ValueError(f"{version[:40]!r} is not an embedded OASF version")
    return _taxonomy(served.version, family)


@cache
def _taxonomy(version: str, family: Family) -> Taxonomy:
    return Taxonomy(version, family, _entries(table_text(f"{family}s", version)))


def table_text(table: str, version: str, suffix: str = "txt") -> str:
    """The text of an embedded table."""
    from importlib.resources import files  # slow to import, so only when a table is needed

    name = f"{table}-{table_version(table, version)}.{suffix}"
    return (files("pentad.rooms.directory.oasf") / "tables" / name).read_text(encoding="utf-8")


def _entries(text: str) -> list[ClassEntry]:
    entries: list[ClassEntry] = []
    above: list[ClassEntry] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a line of a class table: {line!r}")
        indent, number, mark, short, caption = match.groups()
        del above[len(indent) :]
        parent = above[-1] if above else None
        entry = ClassEntry(
            id=(parent.id * 100 if parent else 0) + int(number),
            name=f"{parent.name}/{short}" if parent else short,
            caption=caption,
            grouping=mark == "*",
            deprecated=mark == "!",
        )
        above.append(entry)
        entries.append(entry)
    return entries


How = Literal["name", "id", "short name", "caption", "successor"]

_STABLE_IDS: Final[dict[Family, frozenset[str]]] = {
    "skill": frozenset({"0.3.1", "0.7.0", "0.8.0", "1.0.0"}),
    "domain": frozenset({"0.3.1", "0.7.0"}),
    "module": frozenset(),
}
"""Versions among which a class keeps its id."""

_SUCCESSORS: Final = (
    frozenset({"observability/observability_observability", "observability", "core/observability"}),
    frozenset({"evaluation/evaluation_evaluation", "evaluation", "core/evaluation"}),
    frozenset({"runtime/manifest", "integration/acp"}),
    frozenset({"runtime/model", "core/llm/model", "core/language_model"}),
)
"""Modules with the same data under different names."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """The class in the other version, and how it was matched."""

    entry: ClassEntry
    how: How


@lru_cache(maxsize=8192)
def map_class(entry: ClassEntry, from_version: str, to_version: str, family: Family) -> Mapped | None:
    """The class of `to_version` that corresponds to a class of `from_version`; None if there is none.

    Skills were rewritten in 1.1.0 and modules renumbered in 0.8.0, so an id alone says little. A class maps to the one
    with the same full name, else the same short name, else the same caption. If two versions share their ids, the id
    comes before the short name.
    """
    source, target = taxonomy(from_version, family), taxonomy(to_version, family)
    candidates = [e for e in target.all if entry.grouping or not e.grouping]
    for found in candidates:
        if found.name == entry.name:
            return Mapped(found, "name")
    if family == "module":
        names = next((names for names in _SUCCESSORS if entry.name in names), frozenset[str]())
        for found in candidates:
            if found.name in names:
                return Mapped(found, "successor")
    if {source.version, target.version} <= _STABLE_IDS[family] and (same_id := target.by_id(entry.id)) is not None:
        return Mapped(same_id, "id")
    for found in candidates:
        if found.short == entry.short:
            return Mapped(found, "short name")
    captioned = [e for e in candidates if e.caption.casefold() == entry.caption.casefold()]
    return Mapped(captioned[0], "caption") if len(captioned) == 1 else None
