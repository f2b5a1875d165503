"""The values the registers room is about, and how they look on the wire. No I/O, no rules: only what things are.

An object's data stays the text it was stored as until somebody asks for a property: most reads only pass it on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict
from pentad.kernel.principal import Principal

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

T = TypeVar("T")

OBJECT_COLUMNS: Final = (
    "id, uuid, register, schema, version, data, slug, owner, organisation, created_at, updated_at, deleted, lock"
)
"""The columns of a StoredObject in the order of its constructor: with these selected, write StoredObject(*row)."""

DEFAULT_ORGANISATION: Final = "default"
"""The organisation of whoever is in none, and of what none is named for."""

_OBJECT_FIELDS: Final = OBJECT_COLUMNS.replace("data", "text").split(", ")
_LINKS: Final = ("_mail", "_contacts", "_notes", "_todos", "_calendar", "_talk", "_deck")
_QUOTAS: Final = ("storage", "bandwidth", "requests", "users", "groups")
_REGISTER_FIELDS: Final = (
    "description", "schemas", "source", "tablePrefix", "folder", "updated", "created", "owner", "application",
    "organisation", "authorization", "groups", "languages", "configuration", "published", "depublished", "quota",
    "usage", "deleted", *_LINKS,
)  # fmt: skip
_SCHEMA_FIELDS: Final = (
    "uri", "description", "summary", "icon", "required", "properties", "archive", "source", "hardValidation",
    "immutable", "searchable", "updated", "created", "maxDepth", "owner", "application", "organisation", "groups",
    "authorization", "deleted", "published", "depublished", "configuration", "allOf", "oneOf", "anyOf", "facets",
    "hooks", *_LINKS,
)  # fmt: skip
_HEADINGS: Final = ("description", "summary", "image")
_OPAQUE_METADATA: Final = (
    "files", "groups", "authorization", "folder", "application", "validation", "geo", "retention", "tmlo", "source",
    "mail", "contacts", "notes", "todos", "calendar", "talk", "deck",
)  # fmt: skip


class Locked(Conflict):
    """Somebody else holds the object's lock."""

    code = "locked"
    http_status = 423


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts and how it came about; the history keeps all of it."""

    principal: Principal
    agent: str | None = None
    session: str | None = None
    call: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list, and how long the list is."""

    items: list[T]
    total: int
    limit: int
    offset: int

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Register:
    """A container of schemas and their objects. `body` holds what has no attribute of its own."""

    id: int
    uuid: str
    slug: str
    title: str
    version: str
    body: dict[str, Any]
    schemas: tuple[int, ...]
    created_at: float
    updated_at: float

    @property
    def organisation(self) -> str:
        """Whose it is: that organisation's members may know of it."""
        return self.body.get("organisation") or DEFAULT_ORGANISATION

    def wire(self) -> dict[str, Any]:
        """Every field a register has, also the empty ones."""
        wire: dict[str, Any] = {
            "id": self.id, "uuid": self.uuid, "slug": self.slug, "title": self.title, "version": self.version,
        }  # fmt: skip
        wire.update(dict.fromkeys(_REGISTER_FIELDS))
        groups: list[Any] = self.body.get("groups") or []
        wire["quota"] = dict.fromkeys(_QUOTAS)
        wire["usage"] = {**dict.fromkeys(_QUOTAS, 0), "groups": len(groups)}
        wire.update(self.body)
        wire.update(schemas=list(self.schemas), created=iso(self.created_at), updated=iso(self.updated_at))
        return wire


@dataclass(frozen=True, slots=True)
class Schema:
    """What objects of one kind look like. `changes` counts its versions and tells a compiled form from a stale one."""

    id: int
    uuid: str
    slug: str
    title: str
    version: str
    body: dict[str, Any]
    changes: int
    created_at: float
    updated_at: float

    @property
    def organisation(self) -> str:
        """Whose it is: that organisation's members may know of it."""
        return self.body.get("organisation") or DEFAULT_ORGANISATION

    def wire(self) -> dict[str, Any]:
        """Every field a schema has, also the empty ones."""
        wire: dict[str, Any] = {
            "id": self.id, "uuid": self.uuid, "slug": self.slug, "title": self.title, "version": self.version,
        }  # fmt: skip
        wire.update(dict.fromkeys(_SCHEMA_FIELDS))
        wire.update(required=[], properties={}, hardValidation=True, immutable=False, searchable=True)
        wire.update(self.body)
        wire.update(created=iso(self.created_at), updated=iso(self.updated_at))
        return wire


@dataclass(frozen=True, slots=True)
class Pair:
    """A register with one of its schemas: where objects live."""

    register: Register
    schema: Schema
    definition: "CompiledSchema"

    @property
    def uri(self) -> str:
        return f"openregister://objects/{self.register.id}/{self.schema.id}"

    @property
    def label(self) -> str:
        """How an error names the place."""
        return f"{self.register.slug}/{self.schema.slug}"


class StoredObject(msgspec.Struct, eq=False):
    """One object with its metadata. `text` is its data; what is JSON besides is read when somebody asks for it."""

    id: int
    uuid: str
    register: int
    schema: int
    version: int
    text: str
    slug: str | None
    owner: str
    organisation: str
    created_at: float
    updated_at: float
    deleted_text: str | None = None
    lock_text: str | None = None
    known_data: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The business properties; decoded once, and not to be changed in place."""
        if self.known_data is None:
            self.known_data = msgspec.json.decode(self.text, type=dict[str, Any])
        return self.known_data

    @property
    def is_deleted(self) -> bool:
        return self.deleted_text is not None

    @property
    def deleted(self) -> dict[str, Any] | None:
        """Who deleted it and when, while it waits to be restored or purged."""
        return None if self.deleted_text is None else msgspec.json.decode(self.deleted_text)

    @property
    def is_locked(self) -> bool:
        """Whether it has a lock, which may have run out."""
        return self.lock_text is not None

    @property
    def lock(self) -> dict[str, Any] | None:
        """Who holds it and until when (`expires_at`); it may have run out."""
        return None if self.lock_text is None else msgspec.json.decode(self.lock_text)

    @property
    def row(self) -> tuple[Any, ...]:
        """The columns it was made of."""
        return (
            self.id, self.uuid, self.register, self.schema, self.version, self.text, self.slug, self.owner,
            self.organisation, self.created_at, self.updated_at, self.deleted_text, self.lock_text,
        )  # fmt: skip

    def altered(self, **columns: Any) -> "StoredObject":
        """The same object with other values in some of its columns."""
        values: dict[str, Any] = {**dict(zip(_OBJECT_FIELDS, self.row, strict=True)), "data": None, **columns}
        return StoredObject(*values.values())

    @property
    def uri(self) -> str:
        return f"openregister://objects/{self.register}/{self.schema}/{self.uuid}"

    @property
    def pair_uri(self) -> str:
        return f"openregister://objects/{self.register}/{self.schema}"

    def wire(
        self, definition: "CompiledSchema", *, prune: bool = True, fields: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The business properties with `id` and `@self`; what the data calls `id` itself wins over the metadata.

        With `fields` (names, dotted paths, `@self` or `@self.version`) only those and `id` are there.
        """
        data = self.data
        if fields is None:
            return {"id": self.uuid, **data, "@self": self.metadata(definition, prune=prune)}
        whole: dict[str, Any] = {**data}
        if any(name.startswith("@self") for name in fields):
            whole["@self"] = {
                "schemaVersion": definition.version,
                **self._headings(definition),
                **self.metadata(definition, prune=prune),
            }
        return {"id": self.uuid, **projected(whole, fields)}

    def raw(self, definition: "CompiledSchema") -> msgspec.Raw:
        """What `wire` gives, as JSON: the data is passed on as the text it is, unless it has names of the metadata."""
        text = self.text
        if text == "{}" or '"id"' in text or '"@self"' in text:
            return msgspec.Raw(msgspec.json.encode(self.wire(definition)))
        metadata = msgspec.json.encode(self.metadata(definition)).decode()
        return msgspec.Raw(f'{{"id":"{self.uuid}",{text[1:-1]},"@self":{metadata}}}')

    def metadata(self, definition: "CompiledSchema", *, prune: bool = True) -> dict[str, Any]:
        """The content of `@self`; pruned, it says nothing that is empty or that the reader can tell from the rest.

        A description, summary or image that is a property's value can be told from the property; one that a template
        makes cannot.
        """
        known: dict[str, Any] = {
            "id": self.uuid,
            "slug": self.slug,
            "name": (definition.name_in(self.text) if self.known_data is None else definition.name_of(self.known_data))
            or self.uuid,
            "version": str(self.version),
            "register": self.register,
            "schema": self.schema,
            "locked": _locked_wire(self.lock),
            "owner": self.owner,
            "organisation": self.organisation,
            "updated": iso(self.updated_at),
            "created": iso(self.created_at),
            "deleted": self.deleted,
        }
        if prune:
            known.update(self._headings(definition, made=True))
            return {name: value for name, value in known.items() if value is not None}
        known.update(dict.fromkeys((*_HEADINGS, *_OPAQUE_METADATA)))
        known.update(self._headings(definition), uri=self.uri, schemaVersion=definition.version, relations=None)
        known["size"] = len(self.text.encode())
        return known

    def _headings(self, definition: "CompiledSchema", *, made: bool = False) -> dict[str, str]:
        """The description, summary and image the schema's configuration names; `made`: only those from templates."""
        return {
            which: text
            for which in _HEADINGS
            if which in definition.headings
            and (definition.headings[which] is None or not made)
            and (text := definition.heading_of(which, self.data)) is not None
        }


def _locked_wire(lock: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if lock is None:
        return None
    return {
        "user": lock["principal"],
        "process": lock["process"],
        "created": iso(lock["since"]),
        "duration": lock["seconds"],
        "expiration": iso(lock["expires_at"]),
    }


def projected(data: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Only the named properties; a dotted name reaches into objects, unless a property has exactly that name."""
    found: dict[str, Any] = {}
    for name in fields:
        if name in data:
            found[name] = data[name]
            continue
        *parents, last = name.split(".")
        source: Any = data
        for step in parents:
            source = cast("dict[str, Any]", source).get(step) if isinstance(source, dict) else None
        if isinstance(source, dict) and last in source:
            target = found
            for step in parents:
                target = target.setdefault(step, {})
            target[last] = source[last]
    return found


def prune(wire: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a register or schema that say something; what is false or zero stays.

    What is inside a field was written like that: `{}` is a property of any kind, and null a value that is allowed.
    """
    return {name: value for name, value in wire.items() if not _says_nothing(value)}


def _says_nothing(value: Any) -> bool:
    if isinstance(value, dict):
        return all(member is None for member in cast("dict[str, Any]", value).values())
    return value is None or value in ([], "")


class Operation(msgspec.Struct, frozen=True):
    """One row of a bulk write or of a plan; there are thousands of them in one request.

    `ref` names the object for everything but create and upsert; `key` names the properties an upsert looks it up by;
    `uuid` is what a new object shall have; `patch` are the operations of a JSON Patch.
    """

    action: Literal["create", "update", "patch", "json_patch", "upsert", "delete"]
    data: dict[str, Any] | None = None
    ref: int | str | None = None
    key: tuple[str, ...] = ()
    if_version: int | None = None
    uuid: str | None = None
    patch: tuple[dict[str, Any], ...] = ()


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What became of one row of a bulk write."""

    index: int
    status: Literal["created", "updated", "unchanged", "deleted", "failed"]
    uuid: str | None
    version: int | None
    error: dict[str, Any] | None = None
