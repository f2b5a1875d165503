"""The directory's resources: the OASF schemas and taxonomies, and records by CID or by name.

Records are listed from the store, newest first.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.mcp.call import Call
from pentad.mcp.declarations import Completer, Resource, ResourcePage, resource
from pentad.rooms.directory.oasf.versions import Family
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.translate.formats import EXPORTS, IMPORTS

_MOST = 100


async def complete_version(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """OASF versions, newest first."""
    directory: Directory = call.service
    available, _default = await directory.schemas.versions()
    return [version for version in reversed(available) if version.startswith(typed)]


async def complete_cid(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """CIDs that begin with the typed text, of the newest records."""
    directory: Directory = call.service
    return await directory.records.cids_with_prefix(typed, _MOST)


async def complete_skill(typed: str, call: Call[Any], others: Mapping[str, str]) -> list[str]:
    """Full names of skills, one level at a time."""
    return await _classes(typed, call, others, "skill")


async def complete_domain(typed: str, call: Call[Any], others: Mapping[str, str]) -> list[str]:
    """Full names of domains, one level at a time."""
    return await _classes(typed, call, others, "domain")


async def _classes(typed: str, call: Call[Any], others: Mapping[str, str], family: Family) -> list[str]:
    directory: Directory = call.service
    version = others.get("version") or (await directory.schemas.versions())[1]
    try:
        found = await directory.schemas.children(version, family, typed.rpartition("/")[0] or None)
    except (InvalidInput, NotFound):
        return []
    return [one.name for one in found if one.name.startswith(typed)]


async def complete_import(typed: str, _call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """Formats that can be imported."""
    return [name for name in IMPORTS if name.startswith(typed)]


async def complete_export(typed: str, _call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """Formats that can be exported."""
    return [name for name in EXPORTS if name.startswith(typed)]


RECORDS: Final = "directory://records/"
_JSON: Final = "application/json"
_AT_ONCE: Final = 100
_DAY: Final = 86_400.0


async def listing(call: Call[Any], cursor: str | None) -> ResourcePage:
    """A page of records, newest first. The cursor is the row id that the next page starts below."""
    directory: Directory = call.service
    if cursor is not None and not (cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput("The cursor cannot be read.", hint="Start again without a cursor.")
    page = await directory.records.newest(_AT_ONCE + 1, below=None if cursor is None else int(cursor))
    entries = [
        {"uri": RECORDS + one.cid, "name": f"{one.name} {one.version}"[:200], "mimeType": _JSON}
        for _row, one in page[:_AT_ONCE]
    ]
    return ResourcePage(entries, str(page[_AT_ONCE - 1][0]) if len(page) > _AT_ONCE else None)


@resource("oasf://versions", name="OASF versions", mime_type=_JSON, seconds_fresh=_DAY)
async def versions(call: Call[Directory]) -> str:
    """The OASF versions this server knows, and the default."""
    available, default = await call.service.schemas.versions()
    return _text({"available_versions": available, "default_version": default})


@resource(
    "oasf://{version}/schema", name="OASF schema", mime_type="application/schema+json", seconds_fresh=_DAY,
    complete={"version": complete_version},
)  # fmt: skip
async def schema(version: str, call: Call[Directory]) -> str:
    """The JSON Schema of a record in one OASF version."""
    return _text(await call.service.schemas.json_schema(version))


def _taxonomy(family: Family, top: str, complete: Completer) -> tuple[Resource, Resource]:
    """Two resources of a family of classes: the top classes, and the children of one class."""
    uri, version = f"oasf://{{version}}/{family}s", {"version": complete_version}

    @resource(
        uri, name=f"OASF {family}s", description=f"The top {top} of an OASF version.", mime_type=_JSON,
        complete=version, seconds_fresh=_DAY,
    )  # fmt: skip
    async def classes(version: str, call: Call[Directory]) -> str:
        return await _children(call, version, family, None)

    @resource(
        uri + "/{+parent}", name=f"OASF sub-{family}s",
        description=f"The {family}s directly below one, by its short or full name.", mime_type=_JSON,
        complete={**version, "parent": complete}, seconds_fresh=_DAY,
    )  # fmt: skip
    async def children(version: str, parent: str, call: Call[Directory]) -> str:
        return await _children(call, version, family, parent)

    return classes, children


@resource(RECORDS + "{cid}", name="Agent record", mime_type=_JSON, complete={"cid": complete_cid})
async def record(cid: str, call: Call[Directory]) -> str:
    """One agent record, by its CID. Its content was written by others."""
    return (await call.service.node.pull(cid)).text


@resource("cid:{cid}", name="Agent record (short)", mime_type=_JSON, complete={"cid": complete_cid})
async def short_record(cid: str, call: Call[Directory]) -> str:
    """The same record, by the URI that contexts use."""
    return (await call.service.node.pull(cid)).text


@resource("directory://names/{+name}", name="Versions of a record", mime_type=_JSON)
async def names(name: str, call: Call[Directory]) -> str:
    """The versions of one name with their CIDs: usable ones first, then the newest."""
    found = await call.service.node.versions(name)
    return _text([{"name": one.name, "version": one.version, "cid": one.cid} for one in found])


RESOURCES: Final = (
    versions,
    schema,
    *_taxonomy("skill", "skill categories", complete_skill),
    *_taxonomy("domain", "domains", complete_domain),
    record,
    short_record,
    names,
)


async def _children(call: Call[Directory], version: str, family: Family, parent: str | None) -> str:
    found = await call.service.schemas.children(version, family, parent)
    return _text([{"name": one.name, "caption": one.caption, "id": one.id} for one in found])


def _text(value: Mapping[str, Any] | list[Any]) -> str:
    return msgspec.json.encode(value).decode("utf-8")
