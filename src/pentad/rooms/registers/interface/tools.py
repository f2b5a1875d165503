"""The three tools on modern MCP: `registers`, `schemas` and `objects`, each with its actions.

Thin: arguments to service to answer. Names and the first five actions are OpenRegister's; its own endpoint, with its
own manners, is `compat.py`. A caller needs the room's read scope to call at all; each write asks for more.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declare import ToolResult, tool
from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.callers import caller_of
from pentad.rooms.registers.interface.object_arguments import ObjectsArguments
from pentad.rooms.registers.interface.object_tool import ObjectActions
from pentad.rooms.registers.interface.response_budget import Fitted, answer_of, check_budget, one_of, trimmed
from pentad.rooms.registers.models import Page, Register, Schema, projected, prune
from pentad.rooms.registers.service import Registers

DEFAULT_LIMIT: Final = 20
LARGEST_LIMIT: Final = 1000

_OF_A_REPORT: Final = ("samples", "migration", "counts")


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
    output_schema=tool_schemas.LIST_ANSWER,
)
async def registers(arguments: RegistersArguments, call: Call[Registers]) -> ToolResult:
    """Manage registers, which group schemas and their objects."""
    check_budget(arguments.max_tokens)
    catalogue, caller = call.service.catalogue, caller_of(call)
    match arguments.action:
        case "list":
            return await _page(await catalogue.list_registers(caller, arguments.limit, arguments.offset), arguments)
        case "get":
            return await _one(await catalogue.get_register(caller, arguments.ref()), arguments)
        case "create":
            return await _one(await catalogue.create_register(caller, arguments.content()), arguments)
        case "update":
            changed = await catalogue.update_register(
                caller, arguments.ref(), arguments.content(), if_version=arguments.if_version
            )
            return await _one(changed, arguments)
        case "delete":
            await catalogue.delete_register(caller, arguments.ref(), if_version=arguments.if_version)
            return ToolResult(structured={"deleted": True, "id": arguments.id})


@tool(
    "schemas",
    title="Schemas",
    action="read",
    input_schema=tool_schemas.SCHEMAS,
    output_schema=tool_schemas.LIST_ANSWER,
)
async def schemas(arguments: SchemasArguments, call: Call[Registers]) -> ToolResult:
    """Manage schemas, which describe objects. preflight checks a change against stored objects."""
    check_budget(arguments.max_tokens)
    catalogue, caller = call.service.catalogue, caller_of(call)
    match arguments.action:
        case "list":
            return await _page(await catalogue.list_schemas(caller, arguments.limit, arguments.offset), arguments)
        case "get":
            return await _one(await catalogue.get_schema(caller, arguments.ref()), arguments)
        case "create":
            return await _one(await catalogue.create_schema(caller, arguments.content()), arguments)
        case "update":
            changed = await catalogue.update_schema(
                caller,
                arguments.ref(),
                arguments.content(),
                if_version=arguments.if_version,
                migration=arguments.migration,
            )
            return await _one(changed, arguments)
        case "delete":
            await catalogue.delete_schema(caller, arguments.ref(), if_version=arguments.if_version)
            return ToolResult(structured={"deleted": True, "id": arguments.id})
        case "preflight":
            report = await catalogue.preflight(
                caller, arguments.ref(), arguments.content(), migration=arguments.migration
            )
            return ToolResult(structured=trimmed(report.as_json(), _OF_A_REPORT, arguments.max_tokens))


@tool(
    "objects",
    title="Objects",
    action="read",
    input_schema=tool_schemas.OBJECTS,
    output_schema=tool_schemas.LIST_ANSWER,
)
async def objects(arguments: ObjectsArguments, call: Call[Registers]) -> ToolResult:
    """Query and change objects in a register under a schema. Every change is kept and can be undone."""
    caller = caller_of(call, arguments.reason)
    return ToolResult(structured=await ObjectActions(call.service, caller, arguments).run())


TOOLS: Final = (registers, schemas, objects)


def _shown(entity: Register | Schema, fields: list[str] | None) -> dict[str, Any]:
    wire = prune(entity.wire())
    wire.pop("usage", None)  # figures nobody keeps here; the original has the field
    return wire if fields is None else {"id": entity.id, **projected(wire, fields)}


async def _one(entity: Register | Schema, arguments: EntityArguments) -> ToolResult:
    return ToolResult(structured=await one_of(_shown(entity, arguments.fields_), arguments.max_tokens))


async def _page(page: Page[Register] | Page[Schema], arguments: EntityArguments) -> ToolResult:
    async def build(fitted: Fitted) -> dict[str, Any]:
        body: dict[str, Any] = {"results": fitted.rows, "total": page.total}
        following = page.offset + len(fitted.rows)
        return {**body, "next_offset": following} if following < page.total and fitted.rows else body

    rows = [_shown(one, arguments.fields_) for one in page.items]
    return ToolResult(structured=await answer_of(rows, arguments.max_tokens, build))
