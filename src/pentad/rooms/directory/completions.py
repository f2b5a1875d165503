"""What a client may offer while somebody types an argument of a prompt or of an address."""

from collections.abc import Mapping
from typing import Any

from pentad.mcp.call import Call
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.translate.formats import EXPORTS, IMPORTS

_MOST = 100


async def complete_version(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """OASF versions, newest first."""
    directory: Directory = call.service
    available, _default = await directory.schemas.versions()
    return [version for version in reversed(available) if version.startswith(typed)]


async def complete_cid(typed: str, call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """The content ids of the newest records that begin like this."""
    directory: Directory = call.service
    return await directory.records.cids_from(typed, _MOST)


async def complete_import(typed: str, _call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """Formats that can be imported."""
    return [name for name in IMPORTS if name.startswith(typed)]


async def complete_export(typed: str, _call: Call[Any], _others: Mapping[str, str]) -> list[str]:
    """Formats that can be exported."""
    return [name for name in EXPORTS if name.startswith(typed)]
