"""Migrates skills and domains between OASF versions, and reports how each was mapped."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from pentad.kernel.json_values import as_object, as_objects
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, map_class, taxonomy
from pentad.rooms.directory.oasf.versions import Family
from pentad.rooms.directory.translate.losses import Loss

How = Literal["same name", "same id", "short name", "caption", "successor", "kept as it is", "dropped"]
HOWS: Final[dict[str, How]] = {
    "name": "same name",
    "id": "same id",
    "short name": "short name",
    "caption": "caption",
    "successor": "successor",
}


@dataclass(frozen=True, slots=True)
class ClassMapping:
    """How a class was mapped: its name before and after, and why."""

    family: Family
    before: str
    after: str | None
    how: How

    def as_json(self) -> dict[str, Any]:
        return {"family": self.family, "before": self.before, "after": self.after, "how": self.how}

    def line(self) -> str:
        return f"{self.family} {self.before} -> {self.after or 'nothing'} ({self.how})"


class ClassMigration:
    """Migrates the classes of one family between two versions."""

    def __init__(self, family: Family, before: str, after: str) -> None:
        self.family: Family = family
        self.before = before
        self.after = after
        self.mappings: list[ClassMapping] = []
        self.losses: list[Loss] = []

    def migrate(self, value: Any) -> list[dict[str, Any]]:
        """The list in the other version. Two classes that become one are reported as a loss."""
        kept: dict[int, dict[str, Any]] = {}
        for index, item in enumerate(as_objects(value)):
            path = f"{self.family}s[{index}]"
            entry = self._entry(item)
            found = None if entry is None else self._found(entry, path)
            if entry is None:
                self.mappings.append(ClassMapping(self.family, class_label(item)[:200], None, "dropped"))
                self.losses.append(Loss(path, f"it is no {self.family} of OASF {self.before}"))
            if found is None:
                continue
            if found.id in kept:
                self.losses.append(Loss(path, f"it becomes {found.name}, which another {self.family} is already"))
                continue
            notes = as_object(item.get("annotations"))
            kept[found.id] = self._item(found) | ({"annotations": notes} if notes else {})
        return list(kept.values())

    def _entry(self, item: dict[str, Any]) -> ClassEntry | None:
        classes = taxonomy(self.before, self.family)
        name, number = item.get("name"), item.get("class_uid") if self.before == "0.3.1" else item.get("id")
        named = classes.by_name(name) if isinstance(name, str) else None
        if named is not None:
            return named
        return classes.by_id(number) if isinstance(number, int | float) else None

    def _found(self, entry: ClassEntry, path: str) -> ClassEntry | None:
        direct = map_class(entry, self.before, self.after, self.family)
        if direct is not None and not direct.entry.grouping:
            self.mappings.append(ClassMapping(self.family, entry.name, direct.entry.name, HOWS[direct.how]))
            return direct.entry
        self.mappings.append(ClassMapping(self.family, entry.name, None, "dropped"))
        reason = f"OASF {self.after} has no {self.family} like {entry.name}"
        wider = self._wider(entry)
        self.losses.append(Loss(path, f"{reason}, only the wider {wider.name}" if wider else reason))
        return None

    def _wider(self, entry: ClassEntry) -> ClassEntry | None:
        """The nearest parent with a counterpart. It is only mentioned in the loss, never used instead."""
        for parent in reversed(taxonomy(self.before, self.family).parents(entry)):
            above = None if parent.grouping else map_class(parent, self.before, self.after, self.family)
            if above is not None and not above.entry.grouping:
                return above.entry
        return None

    def _item(self, entry: ClassEntry) -> dict[str, Any]:
        return class_item(entry, self.family, self.after)


def class_label(item: dict[str, Any]) -> str:
    """The name or id that a record gives a class, in any version."""
    return str(item.get("name") or item.get("class_name") or item.get("id") or item.get("class_uid"))


def class_item(entry: ClassEntry, family: Family, version: str) -> dict[str, Any]:
    """A class as an item of a record's list."""
    if version != "0.3.1":
        return {"name": entry.name, "id": entry.id}
    top = [*taxonomy(version, family).parents(entry), entry][0]
    return {
        "class_uid": entry.id,
        "category_uid": top.id,
        "class_name": entry.caption,
        "category_name": top.caption,
    }
