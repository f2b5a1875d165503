"""The `openregister://` resources as the original lists and reads them; the modern ones are in `resources.py`."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pentad.kernel.errors import NotFound
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError
from pentad.rooms.registers.compat_tools import LIST_LIMIT
from pentad.rooms.registers.models import Caller, StoredObject
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.resources import SCHEME, pair_entries
from pentad.rooms.registers.showing import shown

if TYPE_CHECKING:
    from pentad.rooms.registers.service import Registers

log = logging.getLogger("pentad.registers")

_JSON: Final = "application/json"
STATIC: Final[tuple[dict[str, Any], ...]] = (
    {
        "uri": f"{SCHEME}registers",
        "name": "All Registers",
        "description": "All registers you have access to.",
        "mimeType": _JSON,
    },
    {
        "uri": f"{SCHEME}schemas",
        "name": "All Schemas",
        "description": "All schemas you have access to.",
        "mimeType": _JSON,
    },
)
TEMPLATES: Final[tuple[dict[str, Any], ...]] = (
    {
        "uriTemplate": f"{SCHEME}registers/{{id}}",
        "name": "Register",
        "description": "A single register by its ID.",
        "mimeType": _JSON,
    },
    {
        "uriTemplate": f"{SCHEME}schemas/{{id}}",
        "name": "Schema",
        "description": "A single schema by its ID.",
        "mimeType": _JSON,
    },
    {
        "uriTemplate": f"{SCHEME}objects/{{register}}/{{schema}}/{{id}}",
        "name": "Object",
        "description": "A single object by register ID, schema ID and UUID.",
        "mimeType": _JSON,
    },
)


async def list_resources(registers: "Registers", caller: Caller) -> list[dict[str, Any]]:
    """The static entries and one for each pair; when the pairs cannot be read, the static ones alone."""
    try:
        return [*STATIC, *await pair_entries(registers, caller)]
    except Exception:
        log.exception("The pairs of registers and schemas could not be listed")
        return list(STATIC)


async def read_resource(registers: "Registers", caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    """One resource's contents. A missing entity raises NotFound, which this profile answers with -32603."""
    uri = params.get("uri")
    if uri is None or uri == "":
        raise ProtocolError(INVALID_PARAMS, "Missing required parameter: uri")
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid parameter: uri must be a string")
    if not uri.startswith(SCHEME):
        raise ProtocolError(INVALID_PARAMS, f"Invalid URI scheme, expected {SCHEME}")
    kind, *ids = uri.removeprefix(SCHEME).split("/")
    found = await _read(registers, caller, kind, ids)
    return {"uri": uri, "mimeType": _JSON, "text": msgspec.json.encode(found).decode("utf-8")}


async def _read(registers: "Registers", caller: Caller, kind: str, ids: list[str]) -> Any:
    catalogue = registers.catalogue
    if kind == "registers":
        if not ids:
            return [one.wire() for one in await catalogue.list_registers(caller, LIST_LIMIT, 0)]
        return (await catalogue.get_register(caller, _named(ids[0], "Register"))).wire()
    if kind == "schemas":
        if not ids:
            return [one.wire() for one in await catalogue.list_schemas(caller, LIST_LIMIT, 0)]
        return (await catalogue.get_schema(caller, _named(ids[0], "Schema"))).wire()
    if kind == "objects":
        return await _read_objects(registers, caller, ids)
    raise ProtocolError(INVALID_PARAMS, f"Unknown resource type: {kind[:100]}")


async def _read_objects(registers: "Registers", caller: Caller, ids: list[str]) -> Any:
    if len(ids) < 2 or not ids[0] or not ids[1]:
        raise ProtocolError(INVALID_PARAMS, "An objects URI requires register and schema ids")
    pair = await registers.catalogue.pair(caller, ids[0], ids[1])
    if len(ids) > 2 and ids[2]:
        return shown(registers.access, caller, pair, await registers.objects.get(caller, pair, ids[2]))
    found = await registers.objects.find(caller, pair, Query(limit=LIST_LIMIT, count=False))
    return [shown(registers.access, caller, pair, StoredObject(*row)) for row in found.rows]


def _named(text: str, what: str) -> str:
    if not text:
        raise NotFound(f"{what} not found: the URI names none.")
    return text
