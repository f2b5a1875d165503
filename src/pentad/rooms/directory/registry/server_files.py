"""The `server.json` of a record: the original bytes if the record was made from one.

Hosts reject a whole page for one entry they cannot read. So an original in an old form, or without a valid name,
description, version or address, is rewritten from the record. If that fails too, the record is not a server.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, text_or_none
from pentad.rooms.directory.translate.envelope import find_module, module_artifact
from pentad.rooms.directory.translate.host_configs import CONFIG
from pentad.rooms.directory.translate.launches import MODULES
from pentad.rooms.directory.translate.server_json_export import SCHEMA, from_record, qualified_name
from pentad.rooms.directory.translate.server_json_import import current_form, is_current_form, tagged_image

NAME: Final = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_ADDRESS: Final = re.compile(r"(?:https?://|\{[A-Za-z_][A-Za-z0-9_-]*\})\S*")
"""An http address, or a template that begins with a variable."""
SHORTEST_NAME: Final = 3
LONGEST_NAME: Final = 200
LONGEST_VERSION: Final = 255
LONGEST_DESCRIPTION: Final = 100
LATEST: Final = "latest"
"""Stands for the newest version in paths, so no version may have this name."""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """A server as the registry lists it: its name, its version, and its `server.json` as JSON text."""

    name: str
    version: str
    content: bytes


def server_file(record: dict[str, Any]) -> ServerFile | None:
    """The server in a record; None if hosts could not use it."""
    try:
        server = from_record(record).result
    except InvalidInput:
        return None
    if _is_readable(server):
        content = _original(record, server) or _written({**server, "description": shortened(server["description"])})
        return ServerFile(server["name"], server["version"], content)
    repaired = _repaired(record, server)
    if not (repaired.get("packages") or repaired.get("remotes")):
        return None
    return ServerFile(repaired["name"], repaired["version"], _written(repaired)) if _is_readable(repaired) else None


def is_name(name: str) -> bool:
    """Whether this is a valid server name."""
    return SHORTEST_NAME <= len(name) <= LONGEST_NAME and NAME.fullmatch(name) is not None


def has_address(transport: dict[str, Any]) -> bool:
    """Whether a transport over HTTP has a URL that hosts can use."""
    return _ADDRESS.fullmatch(text_or_none(transport.get("url")) or "") is not None


def tombstone(name: str, version: str) -> bytes:
    """The `server.json` of a deleted record."""
    return _written({"name": name, "description": "This server was deleted.", "version": version})


def _is_readable(server: dict[str, Any]) -> bool:
    name, version = text_or_none(server.get("name")), text_or_none(server.get("version"))
    if name is None or version is None or not is_name(name):
        return False
    is_named = len(version) <= LONGEST_VERSION and version != LATEST and "\0" not in version
    is_reachable = all(map(has_address, as_objects(server.get("remotes"))))
    return is_named and text_or_none(server.get("description")) is not None and is_current_form(server) and is_reachable


def _original(record: dict[str, Any], server: dict[str, Any]) -> bytes | None:
    """The bytes that the record was made from, if they are plain JSON with the same content."""
    module = find_module(record, MODULES)
    artifact = None if module is None else module_artifact(module)
    if artifact is None or artifact.content is None or artifact.artifact_type == CONFIG:
        return None
    try:
        return artifact.content if msgspec.json.decode(artifact.content) == server else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _repaired(record: dict[str, Any], server: dict[str, Any]) -> dict[str, Any]:
    current = current_form(server)
    for package in current["packages"]:
        package.pop("name", None)
        package.setdefault("transport", {"type": "stdio"})
        if package.get("registryType") == "oci" and (image := tagged_image(package)) is not None:
            package.update(identifier=image, version=None)
    name = text_or_none(server.get("name")) or ""
    described = text_or_none(server.get("description")) or text_or_none(record.get("description")) or ""
    fields = {
        **current,
        "$schema": SCHEMA,
        "name": name if is_name(name) else qualified_name(record, name or None),
        "description": shortened(described),
        "version": text_or_none(current.get("version")) or text_or_none(record.get("version")),
        "packages": [_without_none(one) for one in current["packages"]],
        "remotes": [_without_none(one) for one in current["remotes"] if has_address(one)],
    }
    for old in ("version_detail", "status"):
        fields.pop(old, None)
    return {key: value for key, value in as_object(fields).items() if value not in (None, [], {}, "")}


def shortened(text: str) -> str:
    """The description, cut to the registry's limit."""
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 1].rstrip() + "…"


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _written(server: dict[str, Any]) -> bytes:
    return msgspec.json.encode(server)
