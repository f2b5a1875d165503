"""The values of the registers room and their wire format. No I/O and no rules.

An object's data stays the stored text until a property is needed: most reads only pass it on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict
from pentad.kernel.principal import Principal
from pentad.kernel.provenance import made_by

if TYPE_CHECKING:
    from pentad.mcp.call import Call
    from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema

T = TypeVar("T")

MOST_IDS: Final = 20
"""How many ids an undo lists for each kind of change."""
OBJECT_COLUMNS: Final = (
    "id, uuid, register, schema, version, data, slug, owner, organisation, created_at, updated_at, deleted, lock,"
    " schema_version"
)
"""The columns of a StoredObject in the order of its constructor: with these selected, write StoredObject(*row)."""

DEFAULT_ORGANISATION: Final = "default"
"""The organisation of principals and things that have no other."""

_LONGEST_AUDIENCE: Final = 6_000
_NOBODY: Final[tuple[tuple[str, ...], ...]] = ((),)
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
    """Another caller holds the object's lock."""

    code = "locked"
    http_status = 423


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts, through what, and why; the history records all of it."""

    principal: Principal
    agent: str | None = None
    session: str | None = None
    call: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, call: "Call[Any]", reason: str | None = None) -> "Caller":
        """The caller of a tool or the reader of a resource."""
        return cls(call.principal, call.client_name, call.peer.session_id, call_id(call.request_id), reason)


def call_id(request_id: int | str) -> str:
    """The id of a call in the history: the URI of the agent's task and the call's place in it; otherwise the request's
    id with a random part, because clients count from 1 in every session.
    """
    if (origin := made_by.get()) is not None:
        return origin
    return f"{plain_id(str(request_id))}-{token_urlsafe(6)}"


def plain_id(request_id: str) -> str:
    """A client-chosen request id, changed so that it cannot be mistaken for a task's URI."""
    return request_id.replace("://", ":")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Part of a list, and the length of the whole list."""

    items: list[T]
    total: int
    limit: int
    offset: int

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class _Entity:
    """What registers and schemas have in common. `body` has the fields without a dedicated attribute."""

    id: int
    uuid: str
    slug: str
    title: str
    version: str
    body: dict[str, Any]

    @property
    def uri(self) -> str:
        return f"openregister://{type(self).__name__.lower()}s/{self.id}"

    @property
    def organisation(self) -> str:
        """The organisation that owns it; its members may see it."""
        return self.body.get("organisation") or DEFAULT_ORGANISATION

    def _with_fields(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            "id": self.id, "uuid": self.uuid, "slug": self.slug, "title": self.title, "version": self.version,
            **dict.fromkeys(names),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Register(_Entity):
    """A container of schemas and their objects."""

    schemas: tuple[int, ...]
    created_at: float
    updated_at: float

    def wire(self) -> dict[str, Any]:
        """Every field of a register, including empty ones."""
        wire = self._with_fields(_REGISTER_FIELDS)
        groups: list[Any] = self.body.get("groups") or []
        wire["quota"] = dict.fromkeys(_QUOTAS)
        wire["usage"] = {**dict.fromkeys(_QUOTAS, 0), "groups": len(groups)}
        wire.update(self.body)
        wire.update(schemas=list(self.schemas), created=iso(self.created_at), updated=iso(self.updated_at))
        return wire


@dataclass(frozen=True, slots=True)
class Schema(_Entity):
    """Describes one kind of object. `changes` counts its versions and shows whether a compiled form is stale."""

    changes: int
    created_at: float
    updated_at: float
    past_rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Who may read, in past states of objects, properties the schema no longer has."""
    warnings: tuple[dict[str, Any], ...] = ()
    """Likely mistakes, in the answer to a change; not stored."""
    change_lines: tuple[str, ...] = ()
    """What a change changed, in the answer to it; not stored."""
    migrated: int | None = None
    """How many objects a change migrated, if the caller may see all of them; not stored."""
    undone: Mapping[str, Any] | None = None
    """The change that an undo took back, in the answer to it; not stored."""

    def change_wire(self) -> dict[str, Any]:
        """What a change did, for its answer."""
        count: dict[str, Any] = {} if self.migrated is None else {"migrated": self.migrated}
        count |= {} if self.undone is None else {"undone": dict(self.undone)}
        return {**count, "changes": list(self.change_lines)} if self.change_lines else count

    def wire(self) -> dict[str, Any]:
        """Every field of a schema, including empty ones."""
        wire = self._with_fields(_SCHEMA_FIELDS)
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
        """The name of the place in errors."""
        return f"{self.register.slug}/{self.schema.slug}"


class StoredObject(msgspec.Struct, eq=False):
    """One object with its metadata. `text` is its data as JSON, which is decoded on first use."""

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
    schema_version: str | None = None
    """The schema version it was written with; None for past states and for objects older than this record."""
    known_data: dict[str, Any] | None = None
    unchanged: bool = False
    """Whether it is the answer to a write that changed nothing."""
    warnings: tuple[dict[str, Any], ...] = ()
    """What an old state lost in later migrations, if this write brings it back."""
    undone: dict[str, Any] | None = None
    """The change that an undo took back, in the answer to it."""

    @property
    def data(self) -> dict[str, Any]:
        """The business properties, decoded once. Do not modify them in place."""
        if self.known_data is None:
            self.known_data = msgspec.json.decode(self.text, type=dict[str, Any])
        return self.known_data

    @property
    def is_deleted(self) -> bool:
        return self.deleted_text is not None

    @property
    def deleted(self) -> dict[str, Any] | None:
        """Who deleted it and when, until it is restored or purged."""
        return None if self.deleted_text is None else msgspec.json.decode(self.deleted_text)

    @property
    def is_locked(self) -> bool:
        """Whether it has a lock, even an expired one."""
        return self.lock_text is not None

    @property
    def lock(self) -> dict[str, Any] | None:
        """Who locked it and until when (`expires_at`); the lock may have expired."""
        return None if self.lock_text is None else msgspec.json.decode(self.lock_text)

    @property
    def row(self) -> tuple[Any, ...]:
        """Its values in the order of OBJECT_COLUMNS."""
        return (
            self.id, self.uuid, self.register, self.schema, self.version, self.text, self.slug, self.owner,
            self.organisation, self.created_at, self.updated_at, self.deleted_text, self.lock_text,
            self.schema_version,
        )  # fmt: skip

    def altered(self, **fields: Any) -> "StoredObject":
        """A copy with some fields changed."""
        return msgspec.structs.replace(
            self, **{"known_data": None, "unchanged": False, "warnings": (), "undone": None, **fields}
        )

    @property
    def uri(self) -> str:
        return f"openregister://objects/{self.register}/{self.schema}/{self.uuid}"

    @property
    def pair_uri(self) -> str:
        return f"openregister://objects/{self.register}/{self.schema}"

    def wire(
        self, definition: "CompiledSchema", *, prune: bool = True, fields: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The properties with `id` and `@self`. `id` is the object's uuid, unless the schema declares such a property.

        `fields` (names, dotted paths, `@self` or `@self.version`) limits the answer to those and `id`.
        """
        data = self.data
        kept: dict[str, Any] = {}
        if "id" in data and "id" not in definition.properties:  # earlier releases stored this
            kept = {"dataId": data["id"]}
            data = {name: value for name, value in data.items() if name != "id"}
        if fields is None:
            return {"id": self.uuid, **data, "@self": {**self.metadata(definition, prune=prune), **kept}}
        whole: dict[str, Any] = {**data}
        if any(name.startswith("@self") for name in fields):
            whole["@self"] = {
                "schemaVersion": self.schema_version,
                **self._headings(definition),
                **self.metadata(definition, prune=prune),
            }
        return {"id": self.uuid, **projected(whole, fields)}

    def raw(self, definition: "CompiledSchema") -> msgspec.Raw:
        """Like `wire`, but as JSON. Passes on the stored text unless it uses metadata names."""
        text = self.text
        if text == "{}" or '"id"' in text or '"@self"' in text:
            return msgspec.Raw(msgspec.json.encode(self.wire(definition)))
        metadata = msgspec.json.encode(self.metadata(definition)).decode()
        return msgspec.Raw(f'{{"id":"{self.uuid}",{text[1:-1]},"@self":{metadata}}}')

    def metadata(self, definition: "CompiledSchema", *, prune: bool = True) -> dict[str, Any]:
        """The content of `@self`. If pruned, it leaves out empty values, copies of properties, and the schema's version
        if that is still current.

        A description, summary or image made by a template is not a copy, so it stays.
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
            if self.schema_version != definition.version:
                known["schemaVersion"] = self.schema_version
            known.update(self._headings(definition, made=True))
            return {name: value for name, value in known.items() if value is not None}
        known.update(dict.fromkeys((*_HEADINGS, *_OPAQUE_METADATA)))
        known.update(self._headings(definition), uri=self.uri, schemaVersion=self.schema_version, relations=None)
        known["size"] = len(self.text.encode())
        return known

    def _headings(self, definition: "CompiledSchema", *, made: bool = False) -> dict[str, str]:
        """The description, summary and image that the schema configures; with `made`, only those from templates."""
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
    """A register or schema without its empty fields; false and zero stay.

    Values inside a field stay: there `{}` means a property of any type, and null can be an allowed value.
    """
    return {name: value for name, value in wire.items() if not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(member is None for member in cast("dict[str, Any]", value).values())
    return value is None or value in ([], "")


Action = Literal["create", "update", "patch", "json_patch", "upsert", "save", "delete"]


class Operation(msgspec.Struct, frozen=True):
    """One row of a bulk write or of a plan; one request may have thousands.

    `ref` names the object, except for create, upsert and save. An upsert finds the object by the properties in `key`,
    otherwise by `named`, and merges; a save finds it by `named` and replaces. Both create the object if there is none.
    `uuid` is for a new object. `patch` has the operations of a JSON Patch.
    """

    action: Action
    data: dict[str, Any] | None = None
    ref: int | str | None = None
    key: tuple[str, ...] = ()
    if_version: int | None = None
    uuid: str | None = None
    patch: tuple[dict[str, Any], ...] = ()
    named: str | None = None
    """The `id` in the data: an existing object must have it."""

    @property
    def may_create(self) -> bool:
        """Whether it creates the object if there is none."""
        return self.action in ("upsert", "save")


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """The result of one row of a bulk write."""

    index: int
    status: Literal["created", "updated", "unchanged", "deleted", "restored", "failed"]
    uuid: str | None
    version: int | None
    error: dict[str, Any] | None = None
    undeclared: tuple[str, ...] = ()
    """Properties that were stored although the schema does not declare them."""
    tolerated: tuple[str, ...] = ()
    """Rules that the object breaks although it was stored, as JSON (`broken_rules`)."""
    warnings: tuple[dict[str, Any], ...] | None = None
    """What an old state lost in later migrations."""


class Audience(msgspec.Struct, frozen=True, array_like=True):
    """Who may be notified of a change: everyone, or the owner and callers who are in a group of every set.

    If an organisation is given, only its members are included. Administrators are in every audience.

    A change signal carries its audience, because deleted things can no longer be looked up, and the address of a list
    does not say which entry changed. Followers are checked against it just before they are notified.
    """

    public: bool = False
    organisation: str | None = None
    owner: str | None = None
    groups: tuple[tuple[str, ...], ...] = ()

    def text(self) -> str:
        """The audience as text for the signal. If the groups do not fit, only the owner and administrators remain."""
        text = msgspec.json.encode(self).decode()
        if len(text.encode()) <= _LONGEST_AUDIENCE:
            return text
        return msgspec.json.encode(Audience(self.public, self.organisation, self.owner, _NOBODY)).decode()

    @classmethod
    def only_owner(cls, owner: str) -> "Audience":
        """The owner and administrators."""
        return cls(owner=owner, groups=_NOBODY)


class PairChange(msgspec.Struct, frozen=True):
    """The changes one transaction made to a pair's objects, as a range of the history.

    Followers are notified if they may see one of the objects, before or after; the objects are looked up for each.
    """

    register: int
    schema: int
    xact: int
    after: int
    last: int

    def text(self) -> str:
        return msgspec.json.encode(self).decode()


_AUDIENCE: Final = msgspec.json.Decoder(Audience)
_PAIR_CHANGE: Final = msgspec.json.Decoder(PairChange)


def read_audience(text: str) -> Audience | PairChange:
    """Read a signal: an audience is a JSON array, a change in a pair is an object."""
    return (_PAIR_CHANGE if text.startswith("{") else _AUDIENCE).decode(text)
