"""Completions for the arguments of prompts and resource templates."""

from collections.abc import Mapping
from typing import Any

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.mcp.call import Call
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
    return await directory.records.cids_from(typed, _MOST)


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
