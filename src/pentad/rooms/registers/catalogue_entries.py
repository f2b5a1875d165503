"""Registers and schemas as callers write them: which fields they may set, of what kind, and what an update changes.

Pure. Fields the room does not know are kept as they are, so that nothing a caller stores is lost; those the server
decides (ids, times, owner) are not taken from the caller.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

import msgspec

from pentad.kernel.errors import InvalidInput, VersionMismatch
from pentad.kernel.json_patch import merge_patch
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.catalogue_store import Kind, as_uuid, is_slug, next_version, slugified
from pentad.rooms.registers.definitions.object_validation import json_text, validation_error
from pentad.rooms.registers.models import Register, Schema

E = TypeVar("E", Register, Schema)

_SERVERS_OWN: Final = frozenset({"id", "uuid", "created", "updated", "owner", "organisation", "usage", "@self"})
_OWN_ATTRIBUTES: Final = frozenset({"title", "version", "slug", "schemas"})
_FIRST_VERSION: Final = "0.0.1"
_LONGEST_TITLE: Final = 500
_KINDS: Final[dict[str, tuple[type, str]]] = {
    "description": (str, "a text"),
    "summary": (str, "a text"),
    "slug": (str, "a text"),
    "authorization": (dict, "an object"),
    "configuration": (dict, "an object"),
    "properties": (dict, "an object"),
    "required": (list, "a list"),
    "schemas": (list, "a list of schemas"),
    "groups": (list, "a list"),
    "languages": (list, "a list"),
    "hardValidation": (bool, "true or false"),
    "searchable": (bool, "true or false"),
    "immutable": (bool, "true or false"),
}


def checked(kind: Kind, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields a caller may set, each of the right kind."""
    _, unstorable = json_text(dict(data))
    if unstorable is not None:
        raise validation_error([unstorable], f"The {kind}")
    for name, (wanted, words) in _KINDS.items():
        value = data.get(name)
        if value is not None and not isinstance(value, wanted):
            raise _wrong(kind, name, f"must be {words}", value)
    title = data.get("title")
    if title is not None and not (isinstance(title, str) and 0 < len(title.strip()) <= _LONGEST_TITLE):
        raise _wrong(kind, "title", f"must be a text of 1 to {_LONGEST_TITLE} characters", title)
    version = data.get("version")
    if version is not None and not (isinstance(version, str) and 0 < len(version) <= 100):
        raise _wrong(kind, "version", "must be a text like 1.2.3", version)
    slug = data.get("slug")
    if slug and not is_slug(slug):
        raise InvalidInput(
            f"{slug[:80]!r} cannot be the slug of a {kind}.",
            hint=f"Use a-z, digits, '.', '_' and '-', e.g. {slugified(slug, kind)!r}; not a number or a uuid.",
        )
    return {name: value for name, value in data.items() if name not in _SERVERS_OWN}


def title_of(kind: Kind, data: Mapping[str, Any]) -> str:
    """The title a new register or schema is given; a slug serves where there is none."""
    title = data.get("title") or data.get("slug")
    if not title:
        guess = did_you_mean("title", (name for name in data if name not in ("title", "slug", "description")))
        raise InvalidInput(
            f"A {kind} needs a title.", hint=f'Give data {{"title": "..."}}.{" " + guess if guess else ""}'
        )
    return str(title).strip()


def given_uuid(kind: Kind, data: Mapping[str, Any]) -> str | None:
    """The uuid a caller chose for something new."""
    given = data.get("uuid")
    if given is None:
        return None
    uuid = as_uuid(given) if isinstance(given, str) else None
    if uuid is None:
        raise _wrong(kind, "uuid", "must be a uuid", given)
    return uuid


def first_version(data: Mapping[str, Any]) -> str:
    return str(data.get("version") or _FIRST_VERSION)


def body_of(fields: Mapping[str, Any], **servers: Any) -> dict[str, Any]:
    """What goes into the body: everything that has no attribute of its own."""
    body = {name: value for name, value in fields.items() if name not in _OWN_ATTRIBUTES and value is not None}
    return {**body, **servers}


def check_version(entity: Register | Schema, if_version: str | None) -> None:
    if if_version is not None and if_version != entity.version:
        raise VersionMismatch(
            f"{type(entity).__name__} {entity.slug!r} is at version {entity.version}, not {if_version}.",
            hint="Read it again and repeat the change on what you find.",
            details={"current": entity.version, "expected": if_version},
        )


def changed(entity: E, fields: Mapping[str, Any], *, merge: bool) -> E:
    """The entity with given fields set; fields that are not named stay.

    With `merge`, objects among the fields are merged member by member (null removes one); otherwise they are replaced.
    The version's last part goes up unless the caller names another version.
    """
    given = {name: value for name, value in fields.items() if name not in _OWN_ATTRIBUTES}
    whole = merge_patch(entity.body, given) if merge else {**entity.body, **given}
    body = {name: value for name, value in cast("dict[str, Any]", whole).items() if value is not None}
    title = str(fields.get("title") or entity.title).strip()
    version = str(fields.get("version") or entity.version)
    if version == entity.version and (body != entity.body or title != entity.title):
        version = next_version(version)
    return replace(entity, title=title, version=version, body=body)


def _wrong(kind: Kind, name: str, rule: str, value: Any) -> InvalidInput:
    return InvalidInput(
        f"{name} of a {kind} {rule}.",
        hint=f"It is {_quoted(value)} now.",
        details={"problems": [{"path": f"/{name}", "rule": "type", "message": rule}]},
    )


def _quoted(value: Any) -> str:
    written = msgspec.json.encode(value).decode()
    return written if len(written) <= 60 else f"{written[:57]}..."
