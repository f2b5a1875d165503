"""What every imported record has, whatever it came from: the common fields, a date, and the source itself.

The same source gives the same record, byte for byte, whenever it is imported: the date is the source's own, or else a
fixed one, never the clock's. The source travels in the module's artifact, so that it can be given back unchanged.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final, Literal, cast

from pentad.kernel.cid import canonical_json
from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.shapes import mapping_of, objects_of, text_of

SCHEMA_VERSION: Final = "1.0.0"
"""What translators write. `migration.py` makes other versions of it."""

UNDATED: Final = "1970-01-01T00:00:00Z"
"""The date of a record whose source has none."""

UNWRITTEN_SERVER: Final = "Agent generated from MCP server JSON"
UNWRITTEN_CARD: Final = "Agent generated from A2A card"
UNNAMED_SERVER: Final = "generated-mcp-agent"
UNNAMED_CARD: Final = "generated-agent"
UNWRITTEN: Final = frozenset({UNWRITTEN_SERVER, UNWRITTEN_CARD, UNNAMED_SERVER, UNNAMED_CARD})
"""Names and descriptions of records whose sources have none."""

DEFAULT_VERSION: Final = "v1.0.0"
JSON_MEDIA: Final = "application/json"
MOST_SOURCE_BYTES: Final = 2 * 1024 * 1024
"""A source is kept in its record in base64, and a record has at most 4 MiB."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller says of the record instead of the source."""

    version: str | None = None
    authors: tuple[str, ...] = ()


NOTHING_GIVEN: Final = Given()

Doubt = Literal["refuse", "withhold", "keep"]
"""What to do with values of a source that may be secrets and may be none."""


def framed(
    *,
    name: str,
    description: str,
    version: str | None,
    authors: Sequence[str],
    created_at: str,
    module: dict[str, Any],
    given: Given,
) -> dict[str, Any]:
    """The record around a module. It names no skills and domains yet, so it is not valid yet."""
    return {
        "name": name,
        "version": given.version or version or DEFAULT_VERSION,
        "schema_version": SCHEMA_VERSION,
        "description": description,
        "authors": list(given.authors) or [author for author in authors if author] or ["Unknown"],
        "created_at": created_at,
        "skills": [],
        "domains": [],
        "modules": [module],
    }


def dated(candidates: Iterable[Any]) -> str:
    """The first of these that is a date or a time, in UTC; the fixed date when none is."""
    for value in candidates:
        if isinstance(value, str) and len(value) <= 40:
            try:
                moment = parse_iso(value.strip()).astimezone(UTC)
            except (ValueError, OverflowError):
                continue
            return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    return UNDATED


def descriptor(media_type: str, content: bytes, artifact_type: str | None = None) -> dict[str, Any]:
    """The source as an artifact of a module."""
    if len(content) > MOST_SOURCE_BYTES:
        raise InvalidInput(
            f"the source has {len(content)} bytes; the most that fit into a record are {MOST_SOURCE_BYTES}",
            hint="Shorten it, or write the record by hand with a locator for the source.",
        )
    kind = {"artifact_type": artifact_type} if artifact_type else {}
    return {
        "media_type": media_type,
        **kind,
        "size": len(content),
        "digest": digest_of(content),
        "data": base64.b64encode(content).decode("ascii"),
    }


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def json_descriptor(source: Any, artifact_type: str | None = None) -> tuple[dict[str, Any], list[Loss]]:
    """A JSON source as an artifact; records round numbers to what a double can hold, and that is a loss."""
    content = canonical_json(source)
    losses = [] if json.loads(content) == source else [Loss("", "numbers a double cannot hold exactly are rounded")]
    return descriptor(JSON_MEDIA, content, artifact_type), losses


@dataclass(frozen=True, slots=True)
class Carried:
    """What the artifact of a module has in it. Without content there is none to be used, and `why` says so."""

    content: bytes | None = None
    media_type: str = ""
    artifact_type: str = ""
    why: str | None = None


def carried(module: dict[str, Any]) -> Carried:
    """The content of a module's artifact, if it is there and is what its digest says."""
    artifact = mapping_of(module.get("artifact"))
    media = text_of(artifact.get("media_type")) or ""
    kind = text_of(artifact.get("artifact_type")) or ""
    data = text_of(artifact.get("data"))
    if data is None:
        return Carried(None, media, kind)
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Carried(None, media, kind, "the artifact is not base64, so it was not used")
    digest = artifact.get("digest")
    if isinstance(digest, str) and digest.startswith("sha256:") and digest.lower() != digest_of(content):
        return Carried(None, media, kind, "the artifact is not what its digest says, so it was not used")
    return Carried(content, media, kind)


def carried_json(found: Carried) -> dict[str, Any] | None:
    """The content as a JSON object, or None when it is none."""
    if found.content is None:
        return None
    try:
        value: Any = json.loads(found.content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def module_named(record: dict[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
    """The first module of one of these names, in the order of the names."""
    modules = objects_of(record.get("modules")) + objects_of(record.get("extensions"))
    return next((module for name in names for module in modules if module.get("name") == name), None)


def module_path(record: dict[str, Any], module: dict[str, Any]) -> str:
    """Where a module stands in its record."""
    for key in ("modules", "extensions"):
        for index, other in enumerate(record.get(key) or ()):
            if other is module:
                return f"{key}[{index}]"
    return "modules"


def unexported(record: dict[str, Any], module: dict[str, Any], what: str) -> list[Loss]:
    """The other parts of a record that have no place in a format which only has a place for one module."""
    own = module_path(record, module)
    named = [key for key in ("skills", "domains", "locators", "annotations") if record.get(key)]
    named += [
        f"{key}[{index}]"
        for key in ("modules", "extensions")
        for index, _ in enumerate(record.get(key) or ())
        if f"{key}[{index}]" != own
    ]
    return [Loss(path, f"{what} has no place for it") for path in named]
