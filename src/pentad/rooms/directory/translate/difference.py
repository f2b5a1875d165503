"""What is different between two records, by meaning: skills by class, locators by address, modules by what they hold.

Records of different OASF versions are compared as well: classes and modules by what they are called in the newer
record's version. A change is marked as breaking when somebody who used the old record could be left without something.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pentad.rooms.directory.oasf.versions import serving
from pentad.rooms.directory.translate.carried_classes import Classes, shown_name
from pentad.rooms.directory.translate.carried_locators import carried_locators
from pentad.rooms.directory.translate.carried_modules import Modules
from pentad.rooms.directory.translate.inner_difference import Inner, differences, same
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.shapes import mapping_of, objects_of, text_of, texts_of

Kind = Literal["added", "removed", "changed"]
Bump = Literal["none", "patch", "minor", "major", "back", "other"]

_SHOWN: Final = 120
_NEWEST_FORM: Final = "1.1.0"
_LISTED: Final = frozenset({"skills", "domains", "locators", "modules", "extensions", "authors", "annotations"})
_WORDS: Final = {"added": "+", "removed": "-", "changed": "~"}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `what` is skill, domain, locator, module, author, annotation or field."""

    kind: Kind
    what: str
    name: str
    before: Any = None
    after: Any = None
    breaking: bool = False

    def line(self) -> str:
        text = f"{_WORDS[self.kind]} {self.what} {self.name}"
        if self.kind == "changed":
            text += f": {_shown(self.before)} -> {_shown(self.after)}"
        elif self.what in ("field", "annotation") or "." in self.name:
            value = self.after if self.kind == "added" else self.before
            text += f": {_shown(value)}" if value is not None else ""
        return f"{text} (breaking)" if self.breaking else text

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"kind": self.kind, "what": self.what, "name": self.name, "breaking": self.breaking}
        if self.before is not None:
            told["before"] = self.before
        if self.after is not None:
            told["after"] = self.after
        return told


@dataclass(frozen=True, slots=True)
class Difference:
    """All differences of two records, and what the change of their versions says about them."""

    changes: list[Change] = field(default_factory=list[Change])
    bump: Bump = "none"

    @property
    def same(self) -> bool:
        return not self.changes

    @property
    def breaking(self) -> bool:
        return any(change.breaking for change in self.changes)

    @property
    def hint(self) -> str | None:
        """What the version should have said."""
        if self.breaking and self.bump not in ("major", "other"):
            return "Something was taken away or changed under the same major version."
        if self.changes and self.bump == "none":
            return "The record changed, but its version did not."
        return "The version went back." if self.bump == "back" else None

    def lines(self) -> list[str]:
        if not self.changes:
            return ["The records say the same."]
        lines = [change.line() for change in self.changes]
        return [*lines, f"Version: {self.bump}"] + ([self.hint] if self.hint else [])

    def as_json(self) -> dict[str, Any]:
        told = [change.as_json() for change in self.changes]
        hint = {"hint": self.hint} if self.hint else {}
        return {"same": self.same, "changes": told, "version_bump": self.bump, "breaking": self.breaking, **hint}


def difference(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """What changed from one record to another."""
    changes: list[Change] = []
    changes += _fields(before, after)
    changes += _sets("author", texts_of(before.get("authors")), texts_of(after.get("authors")))
    for family in ("skill", "domain"):
        old, new = (_classes(record, family, after) for record in (before, after))
        changes += _sets(family, old, new, breaking=family == "skill")
    changes += _sets("locator", _locators(before), _locators(after), breaking=True)
    changes += _annotations(mapping_of(before.get("annotations")), mapping_of(after.get("annotations")))
    changes += _modules(before, after)
    return Difference(changes, bump_of(before.get("version"), after.get("version")))


def _fields(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    changes: list[Change] = []
    for name in sorted((before.keys() | after.keys()) - _LISTED):
        old, new = before.get(name), after.get(name)
        if not same(old, new):
            kind: Kind = "added" if name not in before else "removed" if name not in after else "changed"
            breaking = name == "name" or (name == "schema_version" and str(old)[:2] != str(new)[:2])
            changes.append(Change(kind, "field", name, old, new, breaking))
    return changes


def _sets(what: str, before: Iterable[str], after: Iterable[str], *, breaking: bool = False) -> list[Change]:
    old, new = dict.fromkeys(before), dict.fromkeys(after)
    gone = [Change("removed", what, name, breaking=breaking) for name in old if name not in new]
    return gone + [Change("added", what, name) for name in new if name not in old]


def _classes(record: dict[str, Any], family: Literal["skill", "domain"], newer: dict[str, Any]) -> list[str]:
    """The full names of the classes in the newer record's version, or what the record calls those unknown there."""
    own, there = _version(record), _version(newer)
    names: list[str] = []
    for item in objects_of(record.get(f"{family}s")):
        classes = Classes(family, own, there)
        found = classes.carried([item]) if own and there else []
        exact = classes.mappings[0] if found else None
        if exact is None or exact.after is None:
            names.append(classes.mappings[0].before if classes.mappings else shown_name(item))
        else:
            names.append(exact.after)
    return names


def _version(record: dict[str, Any]) -> str:
    version = record.get("schema_version")
    served = serving(version) if isinstance(version, str) else None
    return served.version if served else ""


def _locators(record: dict[str, Any]) -> list[str]:
    """`type url`, with types as the newest version calls them."""
    lost: list[Loss] = []
    return [
        f"{locator['type']} {url}"
        for item in objects_of(record.get("locators"))
        for locator in carried_locators([item], _NEWEST_FORM, lost)
        for url in locator["urls"]
    ]


def _annotations(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    return [_told("annotation", one, breaking=False) for one in differences(before, after)]


def _modules(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    old, new = (_module_contents(record, after) for record in (before, after))
    changes = _sets("module", old, new, breaking=True)
    for name in old:
        if name in new:
            for one in differences(old[name], new[name]):
                path = f"{name}.{one.path}" if one.path else name
                changes.append(_told("module", Inner(path, one.before, one.after, one.kind), breaking=_breaks(one)))
    return changes


def _module_contents(record: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """The modules by name, in the form of the newer record's version; several of one name are numbered."""
    own, there = _version(record), _version(newer)
    contents: dict[str, Any] = {}
    count: Counter[str] = Counter()
    for key in ("modules", "extensions"):
        for module in objects_of(record.get(key)):
            carried = Modules(own, there, []).carried([module], key) if own and there and own != there else [module]
            for one in carried or [module]:
                name = text_of(one.get("name")) or "(unnamed)"
                count[name] += 1
                content = {field: value for field, value in one.items() if field not in ("name", "id", "artifact")}
                if digest := text_of(mapping_of(one.get("artifact")).get("digest")):
                    content["artifact"] = {"digest": digest}
                contents[f"{name}#{count[name]}" if count[name] > 1 else name] = content
    return contents


_BREAKING: Final[tuple[Callable[[Inner], bool], ...]] = (
    lambda one: one.kind == "removed" and any(word in one.path for word in (".tools[", ".connections[", ".servers[")),
    lambda one: one.kind == "removed" and one.path.endswith((".url", ".command")),
    lambda one: one.kind == "changed" and one.path.endswith((".url", ".command")),
    lambda one: one.kind == "added" and ".env_vars[" in one.path and mapping_of(one.after).get("required") is True,
)


def _breaks(one: Inner) -> bool:
    return any(test(Inner(f".{one.path}", one.before, one.after, one.kind)) for test in _BREAKING)


def _told(what: str, one: Inner, *, breaking: bool) -> Change:
    kind: Kind = "added" if one.kind == "added" else "removed" if one.kind == "removed" else "changed"
    return Change(kind, what, one.path, one.before, one.after, breaking)


def bump_of(before: Any, after: Any) -> Bump:
    """What a version says about a change, if both are numbers with dots."""
    old, new = _numbers(before), _numbers(after)
    if before == after:
        return "none"
    if old is None or new is None:
        return "other"
    if new < old:
        return "back"
    if old[0] != new[0]:
        return "major"
    return "minor" if old[1] != new[1] else "patch" if old != new else "other"


def _numbers(version: Any) -> tuple[int, int, int] | None:
    if not isinstance(version, str) or len(version) > 60:
        return None
    parts = version.lstrip("vV").split("-")[0].split("+")[0].split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        return None
    major, minor, patch, *_ = [*map(int, parts), 0, 0]
    return major, minor, patch


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else "nothing" if value is None else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
