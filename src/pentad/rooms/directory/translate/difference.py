"""Compares two records by meaning: skills by class, locators by address, modules by content.

Records of different OASF versions are compared in terms of the newer record's version. Lists of named objects are
compared by name, lists of texts as sets, everything else by position. A change is breaking if a user of the old record
could lose something.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pentad.kernel.cid import canonical_json
from pentad.kernel.json_values import as_list, as_object, as_objects, as_texts, text_or_none
from pentad.rooms.directory.oasf.versions import embedded_version
from pentad.rooms.directory.translate.class_migration import ClassMigration, class_label
from pentad.rooms.directory.translate.locator_migration import migrate_locators
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.module_migration import ModuleMigration

Kind = Literal["added", "removed", "changed"]
Bump = Literal["none", "patch", "minor", "major", "back", "other"]

_SHOWN: Final = 120
_NEWEST_FORM: Final = "1.1.0"
_LISTED: Final = frozenset({"skills", "domains", "locators", "modules", "extensions", "authors", "annotations"})
_WORDS: Final = {"added": "+", "removed": "-", "changed": "~"}


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One changed value. None stands for a side that lacks it."""

    path: str
    before: Any = None
    after: Any = None
    kind: str = "changed"


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
            text += f": {_short_text(self.before)} -> {_short_text(self.after)}"
        elif self.what in ("field", "annotation") or "." in self.name:
            value = self.after if self.kind == "added" else self.before
            text += f": {_short_text(value)}" if value is not None else ""
        return f"{text} (breaking)" if self.breaking else text

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": self.kind, "what": self.what, "name": self.name, "breaking": self.breaking}
        if self.before is not None:
            fields["before"] = self.before
        if self.after is not None:
            fields["after"] = self.after
        return fields


@dataclass(frozen=True, slots=True)
class Difference:
    """All changes between two records, and the bump of their version."""

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
        """A hint if the version number does not fit the changes."""
        if self.breaking and self.bump not in ("major", "other"):
            return "Something was removed or changed under the same major version."
        if self.changes and self.bump == "none":
            return "The record changed, but its version did not."
        return "The version went back." if self.bump == "back" else None

    def lines(self) -> list[str]:
        if not self.changes:
            return ["The records are equivalent."]
        lines = [change.line() for change in self.changes]
        return [*lines, f"Version: {self.bump}"] + ([self.hint] if self.hint else [])

    def as_json(self) -> dict[str, Any]:
        changes = [change.as_json() for change in self.changes]
        hint = {"hint": self.hint} if self.hint else {}
        return {"same": self.same, "changes": changes, "version_bump": self.bump, "breaking": self.breaking, **hint}


def difference(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """The changes from one record to another."""
    changes: list[Change] = []
    changes += _fields(before, after)
    changes += _sets("author", as_texts(before.get("authors")), as_texts(after.get("authors")))
    for family in ("skill", "domain"):
        old, new = (_classes(record, family, after) for record in (before, after))
        changes += _sets(family, old, new, breaking=family == "skill")
    changes += _sets("locator", _locators(before), _locators(after), breaking=True)
    changes += _annotations(as_object(before.get("annotations")), as_object(after.get("annotations")))
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
    """The full names of the classes in the newer record's version; the record's own name for unknown ones."""
    own_version, target_version = _version(record), _version(newer)
    names: list[str] = []
    for item in as_objects(record.get(f"{family}s")):
        classes = ClassMigration(family, own_version, target_version)
        found = classes.migrate([item]) if own_version and target_version else []
        exact = classes.mappings[0] if found else None
        if exact is None or exact.after is None:
            names.append(classes.mappings[0].before if classes.mappings else class_label(item))
        else:
            names.append(exact.after)
    return names


def _version(record: dict[str, Any]) -> str:
    version = record.get("schema_version")
    served = embedded_version(version) if isinstance(version, str) else None
    return served.version if served else ""


def _locators(record: dict[str, Any]) -> list[str]:
    """`type url`, with the type names of the newest version."""
    lost: list[Loss] = []
    return [
        f"{locator['type']} {url}"
        for item in as_objects(record.get("locators"))
        for locator in migrate_locators([item], _NEWEST_FORM, lost)
        for url in locator["urls"]
    ]


def _annotations(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    return [_change_of("annotation", one, breaking=False) for one in differences(before, after)]


def _modules(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    old, new = (_module_contents(record, after) for record in (before, after))
    changes = _sets("module", old, new, breaking=True)
    for name in old:
        if name in new:
            for one in differences(old[name], new[name]):
                path = f"{name}.{one.path}" if one.path else name
                changes.append(
                    _change_of("module", ValueChange(path, one.before, one.after, one.kind), breaking=_breaks(one))
                )
    return changes


def _module_contents(record: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """The modules by name, in the newer record's version; several with one name are numbered."""
    own_version, target_version = _version(record), _version(newer)
    contents: dict[str, Any] = {}
    count: Counter[str] = Counter()
    for key in ("modules", "extensions"):
        for module in as_objects(record.get(key)):
            differs = own_version and target_version and own_version != target_version
            migrated = ModuleMigration(own_version, target_version, []).migrate([module], key) if differs else [module]
            for one in migrated or [module]:
                name = text_or_none(one.get("name")) or "(unnamed)"
                count[name] += 1
                content = {field: value for field, value in one.items() if field not in ("name", "id", "artifact")}
                if digest := text_or_none(as_object(one.get("artifact")).get("digest")):
                    content["artifact"] = {"digest": digest}
                contents[f"{name}#{count[name]}" if count[name] > 1 else name] = content
    return contents


_BREAKING: Final[tuple[Callable[[ValueChange], bool], ...]] = (
    lambda one: one.kind == "removed" and any(word in one.path for word in (".tools[", ".connections[", ".servers[")),
    lambda one: one.kind == "removed" and one.path.endswith((".url", ".command")),
    lambda one: one.kind == "changed" and one.path.endswith((".url", ".command")),
    lambda one: one.kind == "added" and ".env_vars[" in one.path and as_object(one.after).get("required") is True,
)


def _breaks(one: ValueChange) -> bool:
    return any(test(ValueChange(f".{one.path}", one.before, one.after, one.kind)) for test in _BREAKING)


def _change_of(what: str, one: ValueChange, *, breaking: bool) -> Change:
    kind: Kind = "added" if one.kind == "added" else "removed" if one.kind == "removed" else "changed"
    return Change(kind, what, one.path, one.before, one.after, breaking)


def bump_of(before: Any, after: Any) -> Bump:
    """The kind of version change, if both versions are dotted numbers."""
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


def _short_text(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else "nothing" if value is None else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


MOST: Final = 1_000
"""The most changes reported within one module."""

_ABSENT: Final = object()


def differences(before: Any, after: Any, path: str = "") -> list[ValueChange]:
    """The changes between two JSON values, up to the limit."""
    found: list[ValueChange] = []
    for one in _compared(before, after, path):
        found.append(one)
        if len(found) > MOST:
            break
    return found


def _compared(before: Any, after: Any, path: str) -> Iterator[ValueChange]:
    if before is _ABSENT:
        yield ValueChange(path, None, after, "added")
    elif after is _ABSENT:
        yield ValueChange(path, before, None, "removed")
    elif isinstance(before, dict) and isinstance(after, dict):
        old, new = as_object(before), as_object(after)
        for key in sorted(old.keys() | new.keys()):
            yield from _compared(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(as_list(before), as_list(after), path)
    elif not same(before, after):
        yield ValueChange(path, before, after)


def same(before: Any, after: Any) -> bool:
    """Whether two JSON values are equal: 1 equals 1.0, but not true."""
    return canonical_json([before]) == canonical_json([after])


def _lists(before: list[Any], after: list[Any], path: str) -> Iterator[ValueChange]:
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
        yield from (ValueChange(path, item, None, "removed") for item in before if item not in new_texts)
        yield from (ValueChange(path, None, item, "added") for item in after if item not in old_texts)
        if old_texts == new_texts:
            yield ValueChange(path, before, after)
        return
    for index in range(max(len(before), len(after))):
        old_item = before[index] if index < len(before) else _ABSENT
        new_item = after[index] if index < len(after) else _ABSENT
        yield from _compared(old_item, new_item, f"{path}[{index}]")


def _by_name(item: dict[str, Any]) -> str | None:
    return text_or_none(item.get("name"))


def _by_id(item: dict[str, Any]) -> str | None:
    return text_or_none(item.get("id"))


def _by_address(item: dict[str, Any]) -> str | None:
    kind, address = text_or_none(item.get("type")), text_or_none(item.get("url")) or text_or_none(item.get("command"))
    return f"{kind} {address}" if kind and address else None


def _keyed(items: list[Any], key: Callable[[dict[str, Any]], str | None]) -> dict[str, Any] | None:
    """The items by key, if each has one and all are different; otherwise None."""
    keyed: dict[str, Any] = {}
    for item in items:
        name = key(as_object(item))
        if name is None or name in keyed:
            return None
        keyed[name] = item
    return keyed


def _plain(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items)
