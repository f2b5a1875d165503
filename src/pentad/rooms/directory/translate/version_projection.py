"""Removes what the tables of an OASF version do not allow from an object, and reports each loss.

It only uses the tables: it drops attributes a version does not have and values it does not know. Renamed attributes are
migrated before.
"""

from typing import Any, Final

from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, objects
from pentad.rooms.directory.translate.locator_migration import migrate_locator
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.untrusted_json import items_of, mapping_of

_GONE: Final = object()
"""Stands for a dropped value, because null is a JSON value."""


class VersionProjection:
    """Projects objects onto the tables of one version."""

    def __init__(self, version: str, losses: list[Loss]) -> None:
        self._version = version
        self._facts: Objects = objects(version)
        self._losses = losses

    def module(self, short: str, value: dict[str, Any], path: str) -> dict[str, Any]:
        return self.object(self._facts.shapes["module", short], value, path)

    def field(self, name: str, value: Any) -> Any:
        """A field of the record itself."""
        fitted = self._attribute(self._facts.root.attributes[name], value, name)
        return value if fitted is _GONE else fitted

    def has_field(self, name: str) -> bool:
        return name in self._facts.root.attributes

    def object(self, shape: Shape, value: Any, path: str) -> Any:
        if shape.open or not isinstance(value, dict):
            return value
        kept: dict[str, Any] = {}
        for name, item in mapping_of(value).items():
            attribute = shape.attributes.get(name)
            if attribute is None:
                self._losses.append(Loss(f"{path}.{name}", f"OASF {self._version} has no place for it"))
                continue
            fitted = self._attribute(attribute, item, f"{path}.{name}")
            if fitted is not _GONE:
                kept[name] = fitted
        return kept

    def _attribute(self, attribute: Attribute, value: Any, path: str) -> Any:
        if attribute.array and isinstance(value, list):
            fitted = [
                made
                for index, item in enumerate(items_of(value))
                if (made := self._item(attribute, item, f"{path}[{index}]")) is not _GONE
            ]
            return fitted if fitted or not value or attribute.requirement == "required" else _GONE
        return self._item(attribute, value, path)

    def _item(self, attribute: Attribute, value: Any, path: str) -> Any:
        if attribute.type in self._facts.types or attribute.type.startswith("class_t:"):
            if attribute.values and value not in attribute.values:
                self._losses.append(Loss(path, f"OASF {self._version} does not know the value {str(value)[:80]!r}"))
                return _GONE
            return value
        if attribute.type == "locator" and isinstance(value, dict):
            return migrate_locator(mapping_of(value), self._version, self._losses, path)
        shape = self._shape(attribute, value)
        return value if shape is None else self.object(shape, value, path)

    def _shape(self, attribute: Attribute, value: Any) -> Shape | None:
        if not attribute.one_of:
            return self._facts.shapes.get(("object", attribute.type))
        given = mapping_of(value)
        for shape in self._facts.choices(attribute.type):
            marks = {a.name: a.values[0] for a in shape.attributes.values() if len(a.values) == 1}
            if marks and all(given.get(name) == mark for name, mark in marks.items()):
                return shape
        return None
