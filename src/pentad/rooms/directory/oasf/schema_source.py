"""The source of schemas and validation: the embedded tables, or an OASF server (`remote_schemas.py`)."""

from typing import Any, Protocol

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.names import did_you_mean
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, NEWEST, Family


class UnknownVersion(InvalidInput):
    """The OASF version is unknown here."""

    def __init__(self, version: str, available: list[str]) -> None:
        super().__init__(
            f"There is no OASF version {version[:40]!r}.",
            hint=f"Available versions: {', '.join(available)}.",
            details={"available_versions": available},
        )
        self.version = version
        self.available = available


class SchemaSource(Protocol):
    """What the directory needs to know about OASF."""

    async def versions(self) -> tuple[list[str], str]:
        """The available versions, and the default one."""
        ...

    async def json_schema(self, version: str) -> dict[str, Any]:
        """The JSON Schema of a record."""
        ...

    async def children(self, version: str, family: Family, parent: str | None = None) -> list[ClassEntry]:
        """The direct children of a class (by short or full name), or the top classes, sorted by name."""
        ...

    async def validate(self, data: dict[str, Any]) -> Report:
        """Validate a record by the version it names."""
        ...


class EmbeddedSchemas:
    """The tables that come with Pentad, loaded on first use."""

    def __init__(self, default_version: str = NEWEST) -> None:
        self._default = default_version if default_version in EMBEDDED else NEWEST

    async def versions(self) -> tuple[list[str], str]:
        return list(EMBEDDED), self._default

    async def json_schema(self, version: str) -> dict[str, Any]:
        from pentad.rooms.directory.oasf.json_schema import json_schema

        _check(version)
        return json_schema(version)

    async def children(self, version: str, family: Family, parent: str | None = None) -> list[ClassEntry]:
        _check(version)
        classes = taxonomy(version, family)
        found = classes.children(parent or None)
        if not found:
            raise no_children(parent or "", [entry.short for entry in classes.all if classes.children(entry.name)])
        return found

    async def validate(self, data: dict[str, Any]) -> Report:
        from pentad.rooms.directory.oasf.validator import validate

        return validate(data)


def no_children(parent: str, known: list[str]) -> NotFound:
    """The error for a parent class that is unknown or has no children."""
    hint = did_you_mean(parent, known) or "Leave the parent out for the top classes."
    return NotFound(f"parent '{parent[:200]}' not found or has no children", hint=hint)


def _check(version: str) -> None:
    if version not in EMBEDDED:
        raise UnknownVersion(version, list(EMBEDDED))
