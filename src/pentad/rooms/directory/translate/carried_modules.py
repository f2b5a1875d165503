"""Carries modules (0.3.1: extensions) from one OASF version to another: their names, numbers and data.

Before 1.0 a module of an unknown name is allowed with any content, so a module an old version does not have is kept
there under its own name, and is found again on the way up.
"""

from typing import Any, Final

from pentad.rooms.directory.oasf.mapping import mapped
from pentad.rooms.directory.oasf.module_rules import OLD_NAMES, RESERVED
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED
from pentad.rooms.directory.translate.carried_classes import HOWS, ClassMapping, How
from pentad.rooms.directory.translate.fitting import Fitting
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.module_data import reshaped
from pentad.rooms.directory.translate.shapes import different, mapping_of, objects_of, text_of

VERSION_NOTE: Final = "oasf.version"
_FEATURES: Final = {short: name for name, short in RESERVED.items()}


class Modules:
    """The modules of a record, on their way from one version to another."""

    def __init__(self, before: str, after: str, losses: list[Loss]) -> None:
        self._before = before
        self._after = after
        self.losses = losses
        self._fitting = Fitting(after, losses)
        self.mappings: list[ClassMapping] = []

    def carried(self, value: Any, key: str) -> list[dict[str, Any]]:
        modules = enumerate(objects_of(value))
        return different(one for index, module in modules for one in self._module(module, f"{key}[{index}]"))

    def _module(self, module: dict[str, Any], path: str) -> list[dict[str, Any]]:
        name = text_of(module.get("name")) or ""
        known = _known(name, self._before)
        found = None if known is None else mapped(known[0], known[1], self._after, "module")
        if known is None or found is None or found.entry.grouping:
            return self._unknown(module, name, path)
        self._note(name, found.entry.name, HOWS[found.how])
        datas = reshaped(found.entry.short, module.get("data"), self._after, self.losses, f"{path}.data")
        return [self._named(module, found.entry, data, path) for data in datas]

    def _unknown(self, module: dict[str, Any], name: str, path: str) -> list[dict[str, Any]]:
        if self._after >= "1":
            self._note(name, None, "dropped")
            self.losses.append(Loss(path, f"OASF {self._after} has no module {name[:80]!r}, and allows no others"))
            return []
        self._note(name, name, "kept as it is")
        return [{key: value for key, value in module.items() if key != "id"}]

    def _named(self, module: dict[str, Any], entry: ClassEntry, data: Any, path: str) -> dict[str, Any]:
        notes = dict(mapping_of(module.get("annotations")))
        made: dict[str, Any] = {"name": entry.name, "id": entry.id, "data": data}
        if self._after == "0.3.1":
            made = {"name": _FEATURES[entry.short], "data": data}
            if version := notes.pop(VERSION_NOTE, None):
                made["version"] = version
        elif "version" in module:
            notes[VERSION_NOTE] = str(module["version"])
        rest = {
            key: value for key, value in module.items() if key not in ("name", "id", "data", "annotations", "version")
        }
        return self._fitting.module(entry.short, made | rest | ({"annotations": notes} if notes else {}), path)

    def _note(self, before: str, after: str | None, how: How) -> None:
        self.mappings.append(ClassMapping("module", before[:200], after, how))


def _known(name: str, version: str) -> tuple[ClassEntry, str] | None:
    """The module of a name, and the version whose module it is: the record's own, or one that was kept as it was."""
    if version == "0.3.1":
        feature = taxonomy(version, "module").by_name(RESERVED.get(name, ""))
        if feature is not None:
            return feature, version
    elif (own := _named_in(name, version)) is not None:
        return own, version
    if version >= "1":
        return None
    others = (other for other in reversed(EMBEDDED) if other not in (version, "0.3.1"))
    return next(((entry, other) for other in others if (entry := _named_in(name, other)) is not None), None)


def _named_in(name: str, version: str) -> ClassEntry | None:
    full = OLD_NAMES.get(name, name) if version == "0.7.0" else name
    entry = taxonomy(version, "module").by_name(full)
    return entry if entry is not None and entry.name == full and not entry.grouping else None
