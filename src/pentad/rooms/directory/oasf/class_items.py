"""Reads skills and domains as models write them: plain texts, other keys, free words instead of class names."""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.json_values import as_object
from pentad.rooms.directory.oasf.class_rules import near_classes
from pentad.rooms.directory.oasf.class_suggestions import suggest
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import Family

_NAME_KEYS: Final = ("name", "class_name", "skill", "skill_name", "domain", "domain_name", "title", "label", "caption")
_OWN_KEYS: Final = frozenset({"id", "name", "annotations"})
_OLD_KEYS: Final = frozenset({"category_name", "category_uid", "class_name", "class_uid"})
_MOST_MAPPED: Final = 20
"""How many free texts are looked up per record; each takes a millisecond or two."""


class ClassItems:
    """The skills or domains of one record. `notes` lists which words were read as which class."""

    def __init__(self, version: str, family: Family) -> None:
        self._version = version
        self._family: Family = family
        self._classes = taxonomy(version, family)
        self._has_annotations = version in ("0.7.0", "1.0.0", "1.1.0")
        self.notes: list[str] = []

    def coerced(self, given: Any) -> list[Any] | None:
        """The items as objects; None if there are none."""
        if given is None:
            return None
        if isinstance(given, str):
            return [self._item(part.strip()) for part in re.split(r"[;,\n]", given[:20_000]) if part.strip()]
        if isinstance(given, dict):
            fields = cast("dict[str, Any]", given)
            if any(key in fields for key in (*_NAME_KEYS, "id", "class_uid")):
                return [self._item(fields)]
            return [item for key, value in fields.items() for item in self._keyed(key, value)]
        if not isinstance(given, list):
            return None
        return [self._item(one) for one in cast("list[Any]", given)]

    def _keyed(self, key: str, value: Any) -> list[Any]:
        """The items of a map: under their names, or in lists under their category."""
        if isinstance(value, list) and value:
            return [self._item(one) for one in cast("list[Any]", value)]
        return [self._item({"name": key, **as_object(value)})]

    def _item(self, given: Any) -> Any:
        if isinstance(given, str):
            return self._named(given.strip(), {})
        if isinstance(given, int) and not isinstance(given, bool):
            return self._numbered(given)
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, Any]", given)
        if self._version == "0.3.1" and "class_uid" in fields:
            return fields
        name = next((text for key in _NAME_KEYS if isinstance(text := fields.get(key), str) and text), None)
        if name is None:
            return fields
        return self._named(name, {key: value for key, value in fields.items() if key not in (*_NAME_KEYS, *_OLD_KEYS)})

    def _named(self, name: str, others: Mapping[str, Any]) -> dict[str, Any]:
        if name.isdecimal() and len(name) < 12 and not others:
            return self._numbered(int(name))
        entry = self._meant(name)
        if self._version == "0.3.1":
            return {"name": name, **others} if entry is None else self._numbered(entry.id)
        kept = {key: value for key, value in others.items() if key in _OWN_KEYS}
        more = {key: value for key, value in others.items() if key not in _OWN_KEYS and isinstance(value, str)}
        if more and self._has_annotations:
            kept["annotations"] = {**more, **as_object(kept.get("annotations"))}
        return {"name": entry.name if entry is not None else name, **kept}

    def _numbered(self, number: int) -> dict[str, Any]:
        if self._version != "0.3.1":
            return {"id": number}
        entry = self._classes.by_id(number)
        top = self._classes.parents(entry) if entry is not None else []
        return {"class_uid": number, **({"category_uid": top[0].id} if top else {})}

    def _meant(self, name: str) -> ClassEntry | None:
        """The class that free words clearly mean, if any."""
        known = self._classes.by_name(name)
        if known is not None and known.name == name:
            return known
        near, sure = near_classes(self._classes, name)
        if sure:
            return near[0]
        if len(self.notes) >= _MOST_MAPPED or known is not None:
            return None
        words = re.sub(r"[_/\-]+", " ", name[:500])
        found = [one for one in suggest(words, self._version, self._family, limit=2) if one.confident]
        if not found or (len(found) > 1 and found[0].score == found[1].score):
            return None
        self.notes.append(f'"{name[:80]}" was read as the {self._family} {found[0].entry.name}.')
        return found[0].entry
