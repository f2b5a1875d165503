"""The three tools in OpenRegister's format: bare JSON in a text block. A second block has what that format cannot
express: how to read the rest of a list, warnings about what was stored, and ignored arguments.

`register`, `schema` and `id` are declared as in OpenRegister, but accept integers, uuids and slugs. A value of the
wrong type is a protocol error; any other failure is a result with `isError`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.mcp.wire_errors import INVALID_PARAMS, ProtocolError
from pentad.rooms.registers.catalogue.catalogue import Entities
from pentad.rooms.registers.interface.response_budget import more_to_read
from pentad.rooms.registers.models import Caller, Pair, Schema, StoredObject
from pentad.rooms.registers.presentation import present, split_id, write_warnings
from pentad.rooms.registers.query.models import LARGEST_LIMIT, Query

if TYPE_CHECKING:
    from pentad.rooms.registers.service import Registers

LIST_LIMIT: Final = 100
"""The number of rows in a list if the caller names no limit."""

_ACTIONS: Final = ("list", "get", "create", "update", "delete")


def _tool(name: str, description: str, identifier: dict[str, Any], **place: dict[str, Any]) -> dict[str, Any]:
    """The declaration of a tool; `place` has the required arguments besides the action."""
    properties = {
        "action": {"type": "string", "enum": list(_ACTIONS), "description": "The operation to perform"},
        **place,
        "id": identifier,
        "data": {"type": "object", "description": f"The {name.removesuffix('s')}'s content (for create, update)"},
        "limit": {"type": "integer", "description": "Maximum number of results (for list)"},
        "offset": {"type": "integer", "description": "Number of results to skip (for list)"},
    }
    schema = {"type": "object", "properties": properties, "required": ["action", *place]}
    return {"name": name, "description": description, "inputSchema": schema}


def _id(type_: str, description: str) -> dict[str, Any]:
    return {"type": type_, "description": description}


TOOLS: Final[dict[str, dict[str, Any]]] = {
    "registers": _tool(
        "registers",
        "Manage registers, the data containers that group schemas and objects: list, get, create, update, delete.",
        _id("integer", "Register ID (for get, update, delete)"),
    ),
    "schemas": _tool(
        "schemas",
        "Manage schemas, the data definitions that describe object structure: list, get, create, update, delete.",
        _id("integer", "Schema ID (for get, update, delete)"),
    ),
    "objects": _tool(
        "objects",
        "Manage objects, the data records stored in a register under a schema: list, get, create, update, delete."
        " Register and schema are always required.",
        _id("string", "Object UUID (for get, update, delete)"),
        register=_id("integer", "Register ID"),
        schema=_id("integer", "Schema ID"),
    ),
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
        return _failure(ensure_logged(error, f"tool {name!r}"))
    except ProtocolError:
        raise
    except Exception as error:  # noqa: BLE001  a failure inside a tool is a result that names only an incident number
        return _failure(internal_error(error, f"tool {name!r}"))
    notes: list[str] = []
    if _NEXT_OFFSET in meta:
        shown = more_to_read(len(result), meta["pentad/total"], f"offset={meta[_NEXT_OFFSET]}")
        notes.append(shown["note"])
    notes += [f"Warning: {one['path']} {one['message']}" for one in meta.get(_WARNINGS, ())]
    if ignored := [one[:80] for one in arguments if one not in _KINDS][:_MOST_IGNORED]:
        notes.append(_ignored_note(name, ignored))
        meta = {**meta, "pentad/ignored": ignored}
    answer: dict[str, Any] = {"content": [_text(result)], "isError": False}
    if notes:  # a second block, so that clients of OpenRegister still find the bare result in the first
        answer["content"].append({"type": "text", "text": " ".join(notes)})
    return {**answer, "_meta": meta} if meta else answer


def _ignored_note(tool: str, names: list[str]) -> str:
    return (
        f"Ignored: {', '.join(names)}. This endpoint takes the arguments of OpenRegister only;"
        f" the tool {tool} at /mcp can filter, search and sort."
    )


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": msgspec.json.encode(value).decode("utf-8")}


def _failure(error: PentadError) -> dict[str, Any]:
    body: dict[str, Any] = {"error": error.sentence()}
    if facts := error.facts():
        body["details"] = facts
    return {"content": [_text(body)], "isError": True}


_NEXT_OFFSET: Final = "pentad/next_offset"
_WARNINGS: Final = "pentad/warnings"
_MOST_IGNORED: Final = 20
_LARGEST_OFFSET: Final = 2**62
"""Beyond the end of any list, but a number every store accepts."""
_KINDS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "action": ((str,), "a string"),
    "id": ((int, str), "an integer or a string"),
    "register": ((int, str), "an integer or a string"),
    "schema": ((int, str), "an integer or a string"),
    "data": ((dict,), "an object"),
    "limit": ((int,), "an integer"),
    "offset": ((int,), "an integer"),
    "confirm": ((str,), "a string"),
}


def _check_types(arguments: Mapping[str, Any]) -> None:
    for name, (kinds, words) in _KINDS.items():
        value = arguments.get(name)
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise ProtocolError(INVALID_PARAMS, f"Invalid parameter: {name} must be {words}")
    for name in ("limit", "offset"):
        if (number := arguments.get(name)) is not None and number < 0:
            raise ProtocolError(INVALID_PARAMS, f"Invalid parameter: {name} must not be negative")


Answered = tuple[Any, dict[str, Any]]
"""The JSON of a result, and its `_meta`, which may be empty."""


class _Tools:
    """One call of a tool."""

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
        catalogue = self._registers.catalogue
        return await self._entity_action(action, catalogue.registers if name == "registers" else catalogue.schemas)

    def _required(self, name: str) -> Any:
        value = self._arguments.get(name)
        if value is None or value == "":
            raise InvalidInput(f"Missing required parameter: {name}")
        return value

    def _window(self) -> tuple[int, int]:
        """The limit and offset of a list."""
        limit, offset = self._arguments.get("limit"), self._arguments.get("offset") or 0
        return min(LIST_LIMIT if limit is None else limit, LARGEST_LIMIT), min(offset, _LARGEST_OFFSET)

    async def _entity_action(self, action: str, entities: Entities) -> Answered:
        match action:
            case "list":
                page = await entities.list(self._caller, *self._window())
                rows = [entity.wire() for entity in page.items]
                return rows, _truncation(len(rows), page.offset, page.total)
            case "get":
                found = await entities.get(self._caller, self._required("id"))
            case "create":
                found = await entities.create(self._caller, self._required("data"))
            case "update":
                found = await entities.update(
                    self._caller, self._required("id"), self._required("data"), confirm=self._arguments.get("confirm")
                )
            case _:
                ref = self._required("id")
                await entities.delete(self._caller, ref, confirm=self._arguments.get("confirm"))
                return {"deleted": True, "id": ref}, {}
        return found.wire(), _warnings(found.warnings if isinstance(found, Schema) else ())

    async def _objects(self, action: str) -> Answered:
        caller, objects = self._caller, self._registers.objects
        pair = await self._registers.catalogue.pair(caller, self._arguments["register"], self._arguments["schema"])
        if action == "list":
            return await self._list_objects(pair)
        if action == "create":
            data, named = split_id(pair, self._required("data"))
            stored = await objects.create(caller, pair, data, uuid=None if named is None else str(named))
            return self._written(pair, stored)
        ref = self._required("id")
        if action == "delete":
            await objects.delete(caller, pair, ref)
            return {"deleted": True, "id": ref}, {}
        if action == "get":
            return present(self._registers.access, caller, pair, await objects.get(caller, pair, ref)), {}
        stored = await objects.replace(caller, pair, ref, split_id(pair, self._required("data"))[0])
        return self._written(pair, stored)

    def _written(self, pair: Pair, stored: StoredObject) -> Answered:
        access, caller = self._registers.access, self._caller
        return present(access, caller, pair, stored), _warnings(write_warnings(access, caller, pair, stored))

    async def _list_objects(self, pair: Pair) -> Answered:
        limit, offset = self._window()
        found = await self._registers.objects.find(self._caller, pair, Query(limit=limit, offset=offset))
        rows = [present(self._registers.access, self._caller, pair, StoredObject(*row)) for row in found.rows]
        return rows, _truncation(len(rows), offset, found.total or 0)


def _truncation(count: int, offset: int, total: int) -> dict[str, Any]:
    """The `_meta` of an incomplete list."""
    if offset + count >= total or not count:
        return {}
    return {"pentad/truncated": True, "pentad/total": total, _NEXT_OFFSET: offset + count}


def _warnings(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The `_meta` of a write that stored something questionable."""
    return {_WARNINGS: list(found)} if found else {}
