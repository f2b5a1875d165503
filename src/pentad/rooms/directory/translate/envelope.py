"""The common parts of every imported record: its fields, its date, and the source as an artifact.

The same source always gives the same record, byte for byte, except for the date if the source has none: the caller then
provides it, and an annotation says so. The module's artifact keeps the source, so that an export can return it
unchanged.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast

from pentad.kernel.cid import canonical_json
from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, text_or_none
from pentad.rooms.directory.translate.losses import Loss

SCHEMA_VERSION: Final = "1.0.0"
"""The version that translators write. `migration.py` converts it to others."""

DEFAULT_DATE: Final = "1970-01-01T00:00:00Z"
"""The date of a record if neither its source nor the caller has one."""

DATE_NOTE: Final = "created_at_from"
"""The annotation that says where a date comes from if it is not the source's own: `file` or `import`."""

DEFAULT_SERVER_DESCRIPTION: Final = "Agent generated from MCP server JSON"
DEFAULT_CARD_DESCRIPTION: Final = "Agent generated from A2A card"
DEFAULT_SERVER_NAME: Final = "generated-mcp-agent"
DEFAULT_CARD_NAME: Final = "generated-agent"
PLACEHOLDER_TEXTS: Final = frozenset(
    {DEFAULT_SERVER_DESCRIPTION, DEFAULT_CARD_DESCRIPTION, DEFAULT_SERVER_NAME, DEFAULT_CARD_NAME}
)
"""Names and descriptions given to records whose sources have none."""

DEFAULT_VERSION: Final = "v1.0.0"
JSON_MEDIA: Final = "application/json"
MOST_SOURCE_BYTES: Final = 2 * 1024 * 1024
"""A record keeps its source in base64, and has at most 4 MiB."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Values from the caller that replace those of the source."""

    version: str | None = None
    authors: tuple[str, ...] = ()
    date: str | None = None
    """The date for a source without one."""
    date_from: Literal["file", "import"] = "import"
    source: bytes | None = None
    """The source as it was written. A JSON source is kept byte for byte if nothing in it was withheld."""


NO_OVERRIDES: Final = Overrides()

Doubt = Literal["refuse", "withhold", "keep"]
"""What to do with values that may be secrets."""


def new_record(
    *,
    name: str,
    description: str,
    version: str | None,
    authors: Sequence[str],
    created_at: str | None,
    module: dict[str, Any],
    given: Overrides,
) -> dict[str, Any]:
    """A record with one module. It has no skills and domains yet, so it is not valid yet."""
    record: dict[str, Any] = {
        "name": name,
        "version": given.version or version or DEFAULT_VERSION,
        "schema_version": SCHEMA_VERSION,
        "description": description,
        "authors": list(given.authors) or [author for author in authors if author] or ["Unknown"],
        "created_at": created_at or given.date or DEFAULT_DATE,
        "skills": [],
        "domains": [],
        "modules": [module],
    }
    if created_at is None and given.date is not None:
        record["annotations"] = {DATE_NOTE: given.date_from}
    return record


def first_date(candidates: Iterable[Any]) -> str | None:
    """The first of these that is a date or time, in UTC."""
    for value in candidates:
        if isinstance(value, str) and len(value) <= 40:
            try:
                moment = parse_iso(value.strip()).astimezone(UTC)
            except (ValueError, OverflowError):
                continue
            return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    return None


def iso_second(seconds: float) -> str:
    """A moment as a record's date, in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None).isoformat() + "Z"


def descriptor(media_type: str, content: bytes, artifact_type: str | None = None) -> dict[str, Any]:
    """An artifact with the source."""
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


def json_artifact(
    source: Any, artifact_type: str | None = None, written: bytes | None = None
) -> tuple[dict[str, Any], list[Loss]]:
    """A JSON source as an artifact: the original text, if it is given and has the same content; otherwise canonical
    JSON. Canonical JSON rounds numbers that a double cannot hold, which is a loss."""
    if written is not None and json.loads(written) == source:
        return descriptor(JSON_MEDIA, written, artifact_type), []
    content = canonical_json(source)
    losses = [] if json.loads(content) == source else [Loss("", "numbers a double cannot hold exactly are rounded")]
    return descriptor(JSON_MEDIA, content, artifact_type), losses


@dataclass(frozen=True, slots=True)
class Artifact:
    """The artifact of a module. If it has no usable content, `why` gives the reason."""

    content: bytes | None = None
    media_type: str = ""
    artifact_type: str = ""
    why: str | None = None


def module_artifact(module: dict[str, Any]) -> Artifact:
    """The artifact of a module. Its content is dropped if it does not match the digest."""
    artifact = as_object(module.get("artifact"))
    media = text_or_none(artifact.get("media_type")) or ""
    kind = text_or_none(artifact.get("artifact_type")) or ""
    data = text_or_none(artifact.get("data"))
    if data is None:
        return Artifact(None, media, kind)
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Artifact(None, media, kind, "the artifact is not base64, so it was not used")
    digest = artifact.get("digest")
    if isinstance(digest, str) and digest.startswith("sha256:") and digest.lower() != digest_of(content):
        return Artifact(None, media, kind, "the artifact is not what its digest says, so it was not used")
    return Artifact(content, media, kind)


def artifact_json(found: Artifact) -> dict[str, Any] | None:
    """The content as a JSON object, or None."""
    if found.content is None:
        return None
    try:
        value: Any = json.loads(found.content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def find_module(record: dict[str, Any], names: Sequence[str]) -> dict[str, Any] | None:
    """The first module with one of these names, in the order of the names."""
    modules = as_objects(record.get("modules")) + as_objects(record.get("extensions"))
    return next((module for name in names for module in modules if module.get("name") == name), None)


def module_path(record: dict[str, Any], module: dict[str, Any]) -> str:
    """The path of a module in its record."""
    for key in ("modules", "extensions"):
        for index, other in enumerate(record.get(key) or ()):
            if other is module:
                return f"{key}[{index}]"
    return "modules"


def unexported_parts(record: dict[str, Any], module: dict[str, Any], what: str) -> list[Loss]:
    """The losses of exporting only one module: all other parts of the record."""
    own = module_path(record, module)
    named = [key for key in ("skills", "domains", "locators", "annotations") if record.get(key)]
    named += [
        f"{key}[{index}]"
        for key in ("modules", "extensions")
        for index, _ in enumerate(record.get(key) or ())
        if f"{key}[{index}]" != own
    ]
    return [Loss(path, f"{what} has no place for it") for path in named]
