"""Migrates records between OASF versions, in both directions, with a full report.

Renamed parts are renamed, parts without a place are kept in annotations if possible, and everything else is reported as
a loss. A skill or domain without a counterpart is a problem unless the caller allows it; no other class replaces it.
The report also says whether the result is valid: some versions require values that a migration cannot supply, such as
the signature of 0.3.1.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, text_or_none
from pentad.rooms.directory.oasf.parsing import check_record
from pentad.rooms.directory.oasf.schema_source import UnknownVersion
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family, embedded_version
from pentad.rooms.directory.translate.class_migration import ClassMapping, ClassMigration, class_label
from pentad.rooms.directory.translate.locator_migration import migrate_locators
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.module_migration import ModuleMigration, VersionProjection

PREVIOUS_NOTE: Final = "oasf.previous_record_cid"
_CARRIED: Final = frozenset({"schema_version", "skills", "domains", "locators", "modules", "extensions", "annotations"})


@dataclass(frozen=True, slots=True)
class Migrated:
    """A record in another version. `problems` are the reasons not to store it: it is invalid, or lost classes."""

    record: dict[str, Any]
    mappings: list[ClassMapping] = field(default_factory=list[ClassMapping])
    losses: list[Loss] = field(default_factory=list[Loss])
    problems: list[str] = field(default_factory=list[str])

    @property
    def valid(self) -> bool:
        return not self.problems

    @property
    def unmapped(self) -> list[ClassMapping]:
        """The skills and domains without a counterpart."""
        return [mapping for mapping in self.mappings if mapping.family != "module" and mapping.after is None]

    def as_json(self) -> dict[str, Any]:
        return {
            "record": self.record,
            "valid": self.valid,
            "mappings": [mapping.as_json() for mapping in self.mappings],
            "losses": [loss.as_json() for loss in self.losses],
            "problems": self.problems,
        }


def migrate(record: dict[str, Any], to_version: str, *, allow_unmapped: bool = False) -> Migrated:
    """The record in another embedded version.

    Skills and domains without a counterpart are dropped, which is a problem unless the caller allows it.
    """
    if to_version not in EMBEDDED:
        raise UnknownVersion(to_version, list(EMBEDDED))
    served = embedded_version(check_record(record)["schema_version"])
    if served is None:
        raise InvalidInput("The record's schema_version is unknown.", hint=f"Use one of {', '.join(EMBEDDED)}.")
    source = deepcopy(record)
    if served.version == to_version:
        source["schema_version"] = to_version
        return Migrated(source, problems=_problems(source))
    migrated = _Migration(source, served.version, to_version).migrated()
    if not allow_unmapped:
        migrated.problems[:0] = [unmapped_problem(mapping, to_version) for mapping in migrated.unmapped]
    return migrated


def unmapped_problem(mapping: ClassMapping, version: str) -> str:
    """The problem of a class without a counterpart, and what to do about it."""
    return (
        f"The {mapping.family} {mapping.before!r} has no counterpart in OASF {version}. Name another one, or set"
        " allow_unmapped to leave it out."
    )


class _Migration:
    def __init__(self, source: dict[str, Any], before: str, after: str) -> None:
        self._source = source
        self._before = before
        self._after = after
        self._losses: list[Loss] = []
        self._mappings: list[ClassMapping] = []
        self._projection = VersionProjection(after, self._losses)
        self._notes: dict[str, Any] = dict(as_object(source.get("annotations")))

    def migrated(self) -> Migrated:
        migrated_record: dict[str, Any] = {}
        for name, value in self._source.items():
            if name in _CARRIED:
                continue
            if self._projection.has_field(name):
                migrated_record[name] = self._projection.field(name, value)
            elif name == "previous_record_cid":
                self._notes[PREVIOUS_NOTE] = value
            else:
                self._losses.append(Loss(name, f"OASF {self._after} has no place for it"))
        if "signature" in migrated_record:
            self._losses.append(Loss("signature", "it is kept, but it signs the record as it was before"))
        if self._projection.has_field("previous_record_cid") and (
            previous := text_or_none(self._notes.get(PREVIOUS_NOTE))
        ):
            migrated_record["previous_record_cid"] = previous
            del self._notes[PREVIOUS_NOTE]
        migrated_record["schema_version"] = self._after
        self._carry_classes(migrated_record)
        self._carry_lists(migrated_record)
        if self._notes or "annotations" in self._source:
            migrated_record["annotations"] = self._notes
        return Migrated(migrated_record, self._mappings, self._losses, _problems(migrated_record))

    def _carry_classes(self, migrated_record: dict[str, Any]) -> None:
        families: tuple[tuple[str, Family], ...] = (("skills", "skill"), ("domains", "domain"))
        for name, family in families:
            if name not in self._source:
                continue
            if not self._projection.has_field(name) or not isinstance(self._source[name], list):
                self._losses.append(Loss(name, f"OASF {self._after} has no {name} in a record"))
                lost = as_objects(self._source[name])
                self._mappings += [ClassMapping(family, class_label(item)[:200], None, "dropped") for item in lost]
                continue
            classes = ClassMigration(family, self._before, self._after)
            migrated_record[name] = classes.migrate(self._source[name])
            self._mappings += classes.mappings
            self._losses += classes.losses

    def _carry_lists(self, migrated_record: dict[str, Any]) -> None:
        if "locators" in self._source:
            migrated_record["locators"] = migrate_locators(self._source["locators"], self._after, self._losses)
        modules = ModuleMigration(self._before, self._after, self._losses)
        key = "extensions" if self._after == "0.3.1" else "modules"
        for name in ("modules", "extensions"):
            if name in self._source:
                migrated_record[key] = [*migrated_record.get(key, []), *modules.migrate(self._source[name], name)]
        self._mappings += modules.mappings


def _problems(record: dict[str, Any]) -> list[str]:
    return [finding.line() for finding in validate(record).errors]
