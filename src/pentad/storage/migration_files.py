"""Migrations as they lie in a package: `0001_title.sql`, or one file per dialect, `0001_title.sqlite.sql`.

A package owns its migrations; this module only reads them, in order, and refuses a folder that is not in order.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from pentad.kernel.errors import Misconfigured
from pentad.kernel.ports import Dialect
from pentad.storage.statements import split

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+?)(?:\.(sqlite|postgres))?\.sql")


@dataclass(frozen=True, slots=True)
class MigrationSet:
    """The migrations of one part of Pentad; `package` is an importable package whose folder holds the files."""

    name: str
    package: str


STORAGE = MigrationSet("storage", "pentad.storage.schema")
"""The store's own tables; always the first set."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of a set, in one dialect."""

    set_name: str
    number: int
    title: str
    checksum: str
    statements: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.set_name} {self.number:04d}_{self.title}"


def load(sets: Iterable[MigrationSet], dialect: Dialect) -> list[Migration]:
    """Every migration of the sets, in the order of the sets and of their numbers."""
    return [migration for one in sets for migration in _load_set(one, dialect)]


def _load_set(one: MigrationSet, dialect: Dialect) -> list[Migration]:
    found: dict[int, Migration] = {}
    for entry in sorted(files(one.package).iterdir(), key=lambda entry: entry.name):
        name = _NAME.fullmatch(entry.name)
        if name is None or name[3] not in (None, dialect):
            continue
        number = int(name[1])
        if number in found:
            raise _disorder(one, f"has two files numbered {number:04d} for {dialect}")
        text = entry.read_text(encoding="utf-8").replace("\r\n", "\n")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        found[number] = Migration(one.name, number, name[2], checksum, tuple(split(text, dialect)))
    for expected, number in enumerate(sorted(found), 1):
        if number != expected:
            raise _disorder(one, f"has no file numbered {expected:04d} for {dialect}")
    return [found[number] for number in sorted(found)]


def _disorder(one: MigrationSet, what: str) -> Misconfigured:
    return Misconfigured(
        f"The migrations of {one.name!r} {what}.",
        hint="Number them 0001, 0002, ... without gaps, each once for every dialect.",
    )
