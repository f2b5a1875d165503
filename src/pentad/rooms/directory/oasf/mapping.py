"""Maps a class of one OASF version to another version.

Skills were rewritten in 1.1.0 and modules renumbered in 0.8.0, so an id alone says little. A class maps to the one with
the same full name, else the same short name, else the same caption. If two versions share their ids, the id comes
before the short name.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import Family

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
def mapped(entry: ClassEntry, from_version: str, to_version: str, family: Family) -> Mapped | None:
    """The class of `to_version` that corresponds to a class of `from_version`; None if there is none."""
    here, there = taxonomy(from_version, family), taxonomy(to_version, family)
    fitting = [e for e in there.all if entry.grouping or not e.grouping]
    for found in fitting:
        if found.name == entry.name:
            return Mapped(found, "name")
    if family == "module":
        names = next((names for names in _SUCCESSORS if entry.name in names), frozenset[str]())
        for found in fitting:
            if found.name in names:
                return Mapped(found, "successor")
    if {here.version, there.version} <= _STABLE_IDS[family] and (kept := there.by_id(entry.id)) is not None:
        return Mapped(kept, "id")
    for found in fitting:
        if found.short == entry.short:
            return Mapped(found, "short name")
    captioned = [e for e in fitting if e.caption.casefold() == entry.caption.casefold()]
    return Mapped(captioned[0], "caption") if len(captioned) == 1 else None
