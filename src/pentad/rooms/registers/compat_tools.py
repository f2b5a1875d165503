"""The three tools as OpenRegister lists and answers them: bare JSON in a text block, unknown arguments ignored.

`register`, `schema` and `id` are declared as the original declares them; integers, uuids and slugs are all accepted.
A value of the wrong type is the protocol's error; everything else that fails is a result with `isError`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.incidents import noted, unforeseen
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError
from pentad.rooms.registers.models import Caller, Page, Register, Schema, StoredObject
from pentad.rooms.registers.query.models import LARGEST_LIMIT, Query
from pentad.rooms.registers.sent_back import without_metadata, without_own_id
from pentad.rooms.registers.showing import shown

if TYPE_CHECKING:
    from pentad.rooms.registers.service import Registers

LIST_LIMIT: Final = 100
"""How many rows a list has when the caller names no limit."""

_ACTIONS: Final = ("list", "get", "create", "update", "delete")


def _schema(what: str, key: dict[str, Any], **more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(_ACTIONS), "description": "The operation to perform"},
            **more,
            "id": key,
            "data": {"type": "object", "description": f"The {what}'s content (for create, update)"},
            "limit": {"type": "integer", "description": "Maximum number of results (for list)"},
            "offset": {"type": "integer", "description": "Number of results to skip (for list)"},
        },
        "required": ["action", *more],
    }


def _number(what: str) -> dict[str, Any]:
    return {"type": "integer", "description": f"{what} ID (for get, update, delete)"}


TOOLS: Final[dict[str, dict[str, Any]]] = {
    "registers": {
        "name": "registers",
        "description": "Manage registers, the data containers that group schemas and objects: list, get, create,"
        " update, delete.",
        "inputSchema": _schema("register", _number("Register")),
    },
    "schemas": {
        "name": "schemas",
        "description": "Manage schemas, the data definitions that describe object structure: list, get, create,"
        " update, delete.",
        "inputSchema": _schema("schema", _number("Schema")),
    },
    "objects": {
        "name": "objects",
        "description": "Manage objects, the data records stored in a register under a schema: list, get, create,"
        " update, delete. Register and schema are always required.",
        "inputSchema": _schema(
            "object",
            {"type": "string", "description": "Object UUID (for get, update, delete)"},
            register={"type": "integer", "description": "Register ID"},
            schema={"type": "integer", "description": "Schema ID"},
        ),
    },
}


async def call_tool(registers: "Registers", caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `tools/call`."""
    name = params.get("name")
    if name is None or name == "":
        raise ProtocolError(INVALID_PARAMS, "Missing required parameter: name")
    if not isinstance(name, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid parameter: name must be a string")
    given = params.get("arguments")
    if given is None or given == []:
        given = {}
    if not isinstance(given, dict):
        raise ProtocolError(INVALID_PARAMS, "Invalid parameter: arguments must be an object")
    arguments = cast("dict[str, Any]", given)
    try:
        if name not in TOOLS:
            raise InvalidInput(f"Unknown tool: {name[:200]}")
        _check_types(arguments)
        result, meta = await _Tools(registers, caller, arguments).run(name)
    except PentadError as error:
        return _failure(noted(error, f"tool {name!r}"))
    except ProtocolError:
        raise
    except Exception as error:  # noqa: BLE001  a failure inside a tool is a result, and says no more than its number
        return _failure(unforeseen(error, f"tool {name!r}"))
    answer: dict[str, Any] = {"content": [_text(result)], "isError": False}
    return {**answer, "_meta": meta} if meta else answer


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": msgspec.json.encode(value).decode("utf-8")}


def _failure(error: PentadError) -> dict[str, Any]:
    said: dict[str, Any] = {"error": error.sentence()}
    if facts := error.facts():
        said["details"] = facts
    return {"content": [_text(said)], "isError": True}


_FURTHEST: Final = 2**62
"""Past every list, and still a number each store can take."""
_KINDS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "action": ((str,), "a string"),
    "id": ((int, str), "an integer or a string"),
    "register": ((int, str), "an integer or a string"),
    "schema": ((int, str), "an integer or a string"),
    "data": ((dict,), "an object"),
    "limit": ((int,), "an integer"),
    "offset": ((int,), "an integer"),
}


def _check_types(arguments: Mapping[str, Any]) -> None:
    for name, (kinds, words) in _KINDS.items():
        value = arguments.get(name)
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise ProtocolError(INVALID_PARAMS, f"Invalid parameter: {name} must be {words}")
    for name in ("limit", "offset"):
        if (number := arguments.get(name)) is not None and number < 0:
            raise ProtocolError(INVALID_PARAMS, f"Invalid parameter: {name} must not be negative")


Answered = tuple[Any, dict[str, Any] | None]
"""The JSON of a result, and what `_meta` says about it."""


class _Tools:
    """One call of one of the three."""

    def __init__(self, registers: "Registers", caller: Caller, arguments: Mapping[str, Any]) -> None:
        self._registers = registers
        self._caller = caller
        self._arguments = arguments

    async def run(self, name: str) -> Answered:
        if name == "objects" and not all(self._arguments.get(key) for key in ("register", "schema")):
            raise InvalidInput("Both register and schema IDs are required for object operations")
        action = self._arguments.get("action") or ""
        if action not in _ACTIONS:
            raise InvalidInput(f"Unknown action: {action[:200]}")
        if name == "objects":
            return await self._objects(action)
        return await (self._registers_tool(action) if name == "registers" else self._schemas_tool(action))

    def _required(self, name: str) -> Any:
        value = self._arguments.get(name)
        if value is None or value == "":
            raise InvalidInput(f"Missing required parameter: {name}")
        return value

    def _window(self) -> tuple[int, int]:
        """The limit and offset of a list: at most so many rows, however many are asked for."""
        limit, offset = self._arguments.get("limit"), self._arguments.get("offset") or 0
        return min(LIST_LIMIT if limit is None else limit, LARGEST_LIMIT), min(offset, _FURTHEST)

    async def _registers_tool(self, action: str) -> Answered:
        catalogue, caller = self._registers.catalogue, self._caller
        match action:
            case "list":
                limit, offset = self._window()
                return _page(await catalogue.list_registers(caller, limit, offset))
            case "get":
                return (await catalogue.get_register(caller, self._required("id"))).wire(), None
            case "create":
                return (await catalogue.create_register(caller, self._required("data"))).wire(), None
            case "update":
                ref, data = self._required("id"), self._required("data")
                return (await catalogue.update_register(caller, ref, data)).wire(), None
            case _:
                await catalogue.delete_register(caller, ref := self._required("id"))
                return {"deleted": True, "id": ref}, None

    async def _schemas_tool(self, action: str) -> Answered:
        catalogue, caller = self._registers.catalogue, self._caller
        match action:
            case "list":
                limit, offset = self._window()
                return _page(await catalogue.list_schemas(caller, limit, offset))
            case "get":
                return (await catalogue.get_schema(caller, self._required("id"))).wire(), None
            case "create":
                return (await catalogue.create_schema(caller, self._required("data"))).wire(), None
            case "update":
                ref, data = self._required("id"), self._required("data")
                return (await catalogue.update_schema(caller, ref, data)).wire(), None
            case _:
                await catalogue.delete_schema(caller, ref := self._required("id"))
                return {"deleted": True, "id": ref}, None

    async def _objects(self, action: str) -> Answered:
        caller, objects = self._caller, self._registers.objects
        pair = await self._registers.catalogue.pair(caller, self._arguments["register"], self._arguments["schema"])
        if action == "list":
            return await self._list_objects(pair)
        if action == "create":
            stored = await objects.create(caller, pair, without_metadata(self._required("data")))
            return shown(self._registers.access, caller, pair, stored), None
        ref = self._required("id")
        if action == "delete":
            await objects.delete(caller, pair, ref)
            return {"deleted": True, "id": ref}, None
        if action == "get":
            stored = await objects.get(caller, pair, ref)
        else:
            stored = await objects.replace(
                caller, pair, ref, without_own_id(pair, ref, without_metadata(self._required("data")))
            )
        return shown(self._registers.access, caller, pair, stored), None

    async def _list_objects(self, pair: Any) -> Answered:
        limit, offset = self._window()
        found = await self._registers.objects.find(self._caller, pair, Query(limit=limit, offset=offset))
        rows = [shown(self._registers.access, self._caller, pair, StoredObject(*row)) for row in found.rows]
        return rows, _cut(len(rows), offset, found.total or 0)


def _page(page: Page[Register] | Page[Schema]) -> Answered:
    rows = [entity.wire() for entity in page.items]
    return rows, _cut(len(rows), page.offset, page.total)


def _cut(given: int, offset: int, total: int) -> dict[str, Any] | None:
    """What `_meta` says when there is more than was given."""
    if offset + given >= total or not given:
        return None
    return {"pentad/truncated": True, "pentad/total": total, "pentad/next_offset": offset + given}
