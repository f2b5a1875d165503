"""What the directory lets clients read by address: the OASF taxonomies, and records by CID or by name.

Records exist only at run time, so they are listed from the store, newest first.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.mcp.call import Call
from pentad.mcp.declare import ResourcePage, resource
from pentad.rooms.directory.completions import complete_cid, complete_domain, complete_skill, complete_version
from pentad.rooms.directory.oasf.source import Family
from pentad.rooms.directory.service import Directory

RECORDS: Final = "directory://records/"
_JSON: Final = "application/json"
_AT_ONCE: Final = 100
_DAY: Final = 86_400.0


async def listing(call: Call[Any], cursor: str | None) -> ResourcePage:
    """The records, newest first; the cursor is the row the next page begins below."""
    directory: Directory = call.service
    if cursor is not None and not (cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput("This cursor leads nowhere.", hint="Start again without a cursor.")
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


@resource(
    "oasf://{version}/skills", name="OASF skills", mime_type=_JSON, seconds_fresh=_DAY,
    complete={"version": complete_version},
)  # fmt: skip
async def skills(version: str, call: Call[Directory]) -> str:
    """The top skill categories of an OASF version."""
    return await _children(call, version, "skill", None)


@resource(
    "oasf://{version}/skills/{+parent}", name="OASF sub-skills", mime_type=_JSON, seconds_fresh=_DAY,
    complete={"version": complete_version, "parent": complete_skill},
)  # fmt: skip
async def sub_skills(version: str, parent: str, call: Call[Directory]) -> str:
    """The skills directly below one, by its short or full name."""
    return await _children(call, version, "skill", parent)


@resource(
    "oasf://{version}/domains", name="OASF domains", mime_type=_JSON, seconds_fresh=_DAY,
    complete={"version": complete_version},
)  # fmt: skip
async def domains(version: str, call: Call[Directory]) -> str:
    """The top domains of an OASF version."""
    return await _children(call, version, "domain", None)


@resource(
    "oasf://{version}/domains/{+parent}", name="OASF sub-domains", mime_type=_JSON, seconds_fresh=_DAY,
    complete={"version": complete_version, "parent": complete_domain},
)  # fmt: skip
async def sub_domains(version: str, parent: str, call: Call[Directory]) -> str:
    """The domains directly below one, by its short or full name."""
    return await _children(call, version, "domain", parent)


@resource(RECORDS + "{cid}", name="Agent record", mime_type=_JSON, complete={"cid": complete_cid})
async def record(cid: str, call: Call[Directory]) -> str:
    """One agent record, by its content id. What it says was written by others."""
    return (await call.service.records.pull(cid)).text


@resource("directory://names/{+name}", name="Versions of a record", mime_type=_JSON)
async def names(name: str, call: Call[Directory]) -> str:
    """Every record of one name, newest first: its version and content id."""
    found = await call.service.naming.resolve(name)
    return _text([{"name": one.name, "version": one.version, "cid": one.cid} for one in found])


RESOURCES: Final = (versions, schema, skills, sub_skills, domains, sub_domains, record, names)


async def _children(call: Call[Directory], version: str, family: Family, parent: str | None) -> str:
    found = await call.service.schemas.children(version, family, parent)
    return _text([{"name": one.name, "caption": one.caption, "id": one.id} for one in found])


def _text(value: Mapping[str, Any] | list[Any]) -> str:
    return msgspec.json.encode(value).decode("utf-8")
