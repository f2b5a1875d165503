"""Agents found in the directory: by CID, name, `name:version` or `name:version@cid`, with the rights of the caller.

The directory is another room, so this calls its tools. A record can be sent work if it has an A2A card, or an MCP
server with a URL.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from pentad.kernel.json_values import as_object, as_objects, text_or_empty
from pentad.kernel.principal import Principal
from pentad.mcp.wire_errors import error_from_result
from pentad.platform import Neighbours
from pentad.rooms.agents.models import Json

_RESOLVE: Final = "directory_resolve"
_PULL: Final = "agntcy_dir_pull_record"
_A2A: Final = ("integration/a2a", "runtime/a2a")
_MCP: Final = ("integration/mcp", "runtime/mcp")
_HTTP: Final = ("http://", "https://")


class FoundRecord(NamedTuple):
    """A directory record, with `card` and `mcp_url` if it has them."""

    name: str
    version: str
    cid: str
    card: Json | None = None
    mcp_url: str | None = None

    @property
    def reference(self) -> str:
        """Finds exactly this record."""
        return f"{self.name}:{self.version}@{self.cid}"


async def find_record(neighbours: Neighbours, caller: Principal, reference: str) -> FoundRecord | None:
    """The newest record with this reference; None if the caller can read none. Conflict if it is withdrawn, or has no
    address for the agent.
    """
    try:
        found = await _call(neighbours, caller, _RESOLVE, {"reference": reference})
        if found.get("state") == "withdrawn":
            raise Conflict(
                f"The record {found['name']} {found['version']} is withdrawn.", hint="Choose another agent or version."
            )
        pulled = await _call(neighbours, caller, _PULL, {"cid": found["cid"]})
    except (NotFound, Forbidden, InvalidInput):
        return None
    if not pulled.get("record_data"):
        raise Conflict(f"The record {reference[:200]!r} cannot be read: {pulled.get('error_message')}")
    record = read_record(found["name"], found["version"], found["cid"], msgspec.json.decode(pulled["record_data"]))
    if record.card is None and record.mcp_url is None:
        raise Conflict(
            f"The record {record.name} has no A2A card and no MCP server with a URL, so nothing can be sent to it.",
            hint="Choose a record with a module integration/a2a or integration/mcp.",
            details={"cid": record.cid},
        )
    return record


def read_record(name: str, version: str, cid: str, data: Json) -> FoundRecord:
    """How to reach the agent of a record."""
    modules = {text_or_empty(one.get("name")): as_object(one.get("data")) for one in as_objects(data.get("modules"))}
    cards = [as_object(modules[name].get("card_data")) for name in _A2A if name in modules]
    servers = [_mcp_url(modules[name]) for name in _MCP if name in modules]
    return FoundRecord(
        name, version, cid, next((one for one in cards if one), None), next((one for one in servers if one), None)
    )


def _mcp_url(data: Json) -> str | None:
    """The URL of an MCP server in any version of its module."""
    holders = [data, as_object(data.get("mcp_data")), *as_objects(data.get("servers"))]
    for holder in holders:
        for place in (holder, *as_objects(holder.get("connections")), *as_objects(holder.get("remotes"))):
            if (url := text_or_empty(place.get("url"))).startswith(_HTTP):
                return url
    return None


async def _call(neighbours: Neighbours, caller: Principal, tool: str, arguments: Json) -> Mapping[str, Any]:
    result = await neighbours.call_tool(caller, tool, arguments)
    if result.get("isError"):
        raise error_from_result(result)
    return result["structuredContent"]
