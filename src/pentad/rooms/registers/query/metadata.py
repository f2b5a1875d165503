"""An object's metadata under `@self`: the names that can be queried, and their columns."""

from dataclasses import dataclass
from typing import Final

from pentad.rooms.registers.query.models import Kind, Path

SELF: Final = "@self"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the objects table. A `time` is seconds since the epoch; queries may also use ISO 8601."""

    sql: str
    kind: Kind
    time: bool = False
    nullable: bool = False


COLUMNS: Final = {
    "id": Column("objects.uuid", "text"),
    "uuid": Column("objects.uuid", "text"),
    "slug": Column("objects.slug", "text", nullable=True),
    "version": Column("objects.version", "number"),
    "register": Column("objects.register", "number"),
    "schema": Column("objects.schema", "number"),
    "owner": Column("objects.owner", "text"),
    "organisation": Column("objects.organisation", "text"),
    "created": Column("objects.created_at", "number", time=True),
    "updated": Column("objects.updated_at", "number", time=True),
    "deleted": Column("objects.deleted", "text", nullable=True),
    "schemaVersion": Column("objects.schema_version", "text", nullable=True),
}

METADATA_NAMES: Final = (
    "id", "slug", "name", "version", "register", "schema", "locked", "owner", "organisation", "updated", "created",
    "deleted", "description", "summary", "image", "uri", "schemaVersion", "relations", "size", "files", "groups",
    "authorization", "folder", "application", "validation", "geo", "retention", "tmlo", "source", "mail", "contacts",
    "notes", "todos", "calendar", "talk", "deck",
)  # fmt: skip
"""Every name `@self` can have in an answer, the most useful first."""

HEADINGS: Final = ("name", "description", "summary", "image")
"""Metadata taken from properties that the schema's configuration names."""


def column_of(path: Path) -> Column | None:
    """The column for a path, or None for a path into the data."""
    return COLUMNS.get(str(path[1])) if len(path) == 2 and path[0] == SELF else None
