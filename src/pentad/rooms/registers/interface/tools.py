"""The tools on modern MCP: `registers` and `schemas` here, `objects` and `views` in files of their own.

Tool names and the first five actions are OpenRegister's. Its own endpoint is `openregister.py`. A caller needs the
room's read scope to call a tool at all; each write needs more.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.registers.catalogue.catalogue import Entities
from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.object_tool import objects
from pentad.rooms.registers.interface.response_budget import Fitted, build_response, check_budget, fit_lists, fit_one
from pentad.rooms.registers.interface.view_tool import views
from pentad.rooms.registers.models import Caller, Page, Register, Schema, projected, prune
from pentad.rooms.registers.service import Registers

DEFAULT_LIMIT: Final = 20
LARGEST_LIMIT: Final = 1000

_REPORT_LISTS: Final = ("samples", "migration", "counts")


class EntityArguments(Arguments):
    """What `registers` and `schemas` have in common."""

    id: int | str | None = None
    data: dict[str, Any] | None = None
    limit: Annotated[int, Field(ge=0, le=LARGEST_LIMIT)] = DEFAULT_LIMIT
    offset: Annotated[int, Field(ge=0, lt=2**53)] = 0
    fields_: Annotated[list[str] | None, Field(alias="fields")] = None
    max_tokens: int | None = None
    if_version: str | None = None

    def ref(self) -> int | str:
        if self.id is None or self.id == "":
            raise InvalidInput("Missing required parameter: id", hint="Give an id, a uuid or a slug.")
        return self.id

    def content(self) -> dict[str, Any]:
        if self.data is None:
            raise InvalidInput("Missing required parameter: data", hint='Give data {"title": "...", ...}.')
        return self.data


class RegistersArguments(EntityArguments):
    action: Literal["list", "get", "create", "update", "delete"]


class SchemasArguments(EntityArguments):
    action: Literal["list", "get", "create", "update", "delete", "preflight"]
    migration: list[dict[str, Any]] | None = None


@tool(
    "registers",
    title="Registers",
    action="read",
    input_schema=tool_schemas.REGISTERS,
    read_schema=tool_schemas.reading(tool_schemas.REGISTERS),
    output_schema=tool_schemas.LIST_ANSWER,
)
async def registers(arguments: RegistersArguments, call: Call[Registers]) -> ToolResult:
    """List and manage registers, which group schemas and their objects."""
    return await _act(call.service.catalogue.registers, Caller.of(call), arguments, arguments.action)


@tool(
    "schemas",
    title="Schemas",
    action="read",
    input_schema=tool_schemas.SCHEMAS,
    read_schema=tool_schemas.reading(tool_schemas.SCHEMAS),
    output_schema=tool_schemas.LIST_ANSWER,
)
async def schemas(arguments: SchemasArguments, call: Call[Registers]) -> ToolResult:
    """List and manage schemas, which describe objects. preflight checks a change against stored objects."""
    catalogue, caller, migration = call.service.catalogue, Caller.of(call), arguments.migration
    if arguments.action != "preflight":
        return await _act(catalogue.schemas, caller, arguments, arguments.action, migration=migration)
    _check_budget(arguments)
    report = await catalogue.preflight(caller, arguments.ref(), arguments.content(), migration=migration)
    return ToolResult(structured=fit_lists(report.as_json(), _REPORT_LISTS, arguments.max_tokens))


TOOLS: Final = (registers, schemas, objects, views)


async def _act(
    entities: Entities[Any],
    caller: Caller,
    arguments: EntityArguments,
    action: Literal["list", "get", "create", "update", "delete"],
    **changes: Any,
) -> ToolResult:
    """Carry out an action on registers or schemas; `changes` go along with an update."""
    _check_budget(arguments)
    version = arguments.if_version
    match action:
        case "list":
            return await _page(await entities.list(caller, arguments.limit, arguments.offset), arguments)
        case "get":
            found = await entities.get(caller, arguments.ref())
        case "create":
            found = await entities.create(caller, arguments.content())
        case "update":
            found = await entities.update(caller, arguments.ref(), arguments.content(), if_version=version, **changes)
        case "delete":
            await entities.delete(caller, arguments.ref(), if_version=version)
            return ToolResult(structured={"deleted": True, "id": arguments.id})
    wire = _wire(found, arguments.fields_)
    return ToolResult(structured=wire if arguments.max_tokens is None else await fit_one(wire, arguments.max_tokens))


def _check_budget(arguments: EntityArguments) -> None:
    if arguments.max_tokens is not None:
        check_budget(arguments.max_tokens)


def _wire(entity: Register | Schema, fields: list[str] | None) -> dict[str, Any]:
    wire = prune(entity.wire())
    wire.pop("usage", None)  # OpenRegister has the field; Pentad keeps no such figures
    return wire if fields is None else {"id": entity.id, **projected(wire, fields)}


async def _page(page: Page[Register] | Page[Schema], arguments: EntityArguments) -> ToolResult:
    async def build(fitted: Fitted) -> dict[str, Any]:
        body: dict[str, Any] = {"results": fitted.rows, "total": page.total}
        following = page.offset + len(fitted.rows)
        return {**body, "next_offset": following} if following < page.total and fitted.rows else body

    rows = [_wire(one, arguments.fields_) for one in page.items]
    return ToolResult(structured=await build_response(rows, arguments.max_tokens, build))
