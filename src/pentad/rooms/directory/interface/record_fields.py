"""A record as form fields: name, version, description, authors, skills, domains and locators.

Everything without a field stays unchanged in the record's JSON, which the form carries along.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from pentad.kernel.schema_forms import Suggest, Suggestions, read_form
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import NEWEST, Family, embedded_version

_FAMILIES: Final[Mapping[str, Family]] = {"skills": "skill", "domains": "domain"}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_CLASSES: Final = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}},
}
_ONE_URL: Final = ("0.3", "0.7", "0.8")
"""Versions in which a locator has one `url` rather than `urls`."""


def record_in(text: str) -> dict[str, Any] | None:
    """The record in a text; None if it is not an object, so that only its JSON can be shown."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return None


def record_schema(record: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the form, for the OASF version of the record."""
    version = str(record.get("schema_version") or "")
    urls = {**_TEXTS, "title": "Addresses"}
    address = {"url": {"type": "string", "title": "Address"}} if version.startswith(_ONE_URL) else {"urls": urls}
    locator = {
        "type": {"type": "string", "title": "Type", "examples": ["mcp_server", "docker_image", "source_code"]},
        **address,
    }
    return {
        "type": "object",
        "required": ["name", "version", "description"],
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "A domain that you own, and a name below it."},
            "version": {"type": "string", "title": "Version"},
            "description": {"type": "string", "title": "Description", "format": "multiline"},
            "authors": {**_TEXTS, "title": "Authors"},
            **{name: {**_CLASSES, "title": name.capitalize()} for name in _FAMILIES},
            "locators": {"type": "array", "title": "Locators", "items": {"type": "object", "properties": locator}},
        },
    }


def shown_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as the form shows it: skills and domains by name only, because the ids follow from the names."""
    shown = dict(record)
    for name in _FAMILIES:
        if isinstance(items := record.get(name), list):
            shown[name] = [_without_id(one) for one in cast("list[Any]", items)]
    return shown


def typed_record(record: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """A record with the typed values. The ids of skills and domains follow from their names."""
    typed = read_form(record_schema(record), fields, dict(record))
    version = str(record.get("schema_version") or "")
    for name, family in _FAMILIES.items():
        if isinstance(items := typed.get(name), list):
            typed[name] = [_numbered(one, family, version) for one in cast("list[Any]", items)]
    return typed


def suggested_classes(record: Mapping[str, Any]) -> Suggest:
    """Suggests OASF skills and domains where the form asks for one."""
    version = _served(str(record.get("schema_version") or ""))

    def suggest(pointer: str, _schema: Mapping[str, Any]) -> Suggestions | None:
        part, _, rest = pointer.strip("/").partition("/")
        if part not in _FAMILIES or not rest.endswith("/name"):
            return None
        known = taxonomy(version, _FAMILIES[part]).all
        return Suggestions([(one.name, one.caption) for one in known if not one.grouping and not one.deprecated])

    return suggest


def _without_id(one: Any) -> Any:
    if not isinstance(one, Mapping):
        return one
    item = cast("Mapping[str, Any]", one)
    return {name: value for name, value in item.items() if name != "id"} if item.get("name") else item


def _numbered(one: Any, family: Family, version: str) -> Any:
    if not isinstance(one, Mapping):
        return one
    item = cast("Mapping[str, Any]", one)
    known = taxonomy(_served(version), family).by_name(str(item.get("name") or ""))
    return item if known is None else {**item, "name": known.name, "id": known.id}


def _served(version: str) -> str:
    found = embedded_version(version)
    return NEWEST if found is None else found.version
