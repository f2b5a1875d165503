"""The tools on modern MCP: `registers` and `schemas` here, the others in separate files.

Tool names and the first five actions are OpenRegister's, whose own endpoint is in `openregister.py`. Any tool call
needs the room's read scope; each write needs more.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import ActionTable, Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.registers.catalogue.catalogue import Entities
from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.attachment_tool import attachments
from pentad.rooms.registers.interface.object_tool import objects
from pentad.rooms.registers.interface.register_description import describe_register
from pentad.rooms.registers.interface.response_budget import (
    Fitted,
    build_response,
    check_budget,
    fit_lists,
    fit_one,
    more_to_read,
)
from pentad.rooms.registers.interface.transfer_tool import transfer
from pentad.rooms.registers.interface.view_tool import views
from pentad.rooms.registers.models import Caller, Page, Register, Schema, projected, prune
from pentad.rooms.registers.next_step import NextStep
from pentad.rooms.registers.query.datetimes import parse_time
from pentad.rooms.registers.service import Registers

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.evolution import EvolutionReport

DEFAULT_LIMIT: Final = 20
LARGEST_LIMIT: Final = 1000

_REPORT_LISTS: Final = (
    "samples",
    "orphaned",
    "lost",
    "changes",
    "breaks",
    "follows",
    "dropped_rules",
    "unused_steps",
    "warnings",
    "migration",
    "counts",
)
_READS: Final = {
    "registers": ActionTable.of(
        "max_tokens",
        list="limit offset fields",
        get="id fields",
        create="data fields",
        update="id data if_version confirm fields",
        delete="id if_version confirm",
        describe="id",
    ),
    "schemas": ActionTable.of(
        "max_tokens reason",
        list="limit offset fields",
        get="id version as_of fields",
        create="data fields",
        update="id data migration if_version confirm fields",
        delete="id if_version confirm",
        preflight="id data migration",
        patch="id operations migration if_version confirm fields",
        plan="id operations migration version",
        history="id limit offset",
        diff="id version to_version",
        undo="id version if_version confirm fields",
    ),
}


class EntityArguments(Arguments):
    """What `registers` and `schemas` have in common."""

    id: int | str | None = None
    data: dict[str, Any] | None = None
    limit: Annotated[int, Field(ge=0, le=LARGEST_LIMIT)] = DEFAULT_LIMIT
    offset: Annotated[int, Field(ge=0, lt=2**53)] = 0
    fields_: Annotated[list[str] | None, Field(alias="fields")] = None
    max_tokens: int | None = None
    if_version: str | None = None
    confirm: Annotated[str | None, Field(max_length=100)] = None

    def ref(self) -> int | str:
        if self.id is None or self.id == "":
            raise InvalidInput("Missing required parameter: id", hint="Give an id, a uuid or a slug.")
        return self.id

    def content(self) -> dict[str, Any]:
        if self.data is None:
            raise InvalidInput("Missing required parameter: data", hint='Give data {"title": "...", ...}.')
        return self.data


class RegistersArguments(EntityArguments):
    action: tool_schemas.RegisterAction


class SchemasArguments(EntityArguments):
    action: tool_schemas.SchemaAction
    operations: list[dict[str, Any]] | None = None
    migration: list[dict[str, Any]] | None = None
    version: Annotated[int | None, Field(ge=1, lt=2**53)] = None
    to_version: Annotated[int | None, Field(ge=1, lt=2**53)] = None
    as_of: str | int | float | None = None
    reason: Annotated[str | None, Field(max_length=2000)] = None

    def patch(self) -> list[dict[str, Any]]:
        if self.operations is None:
            raise InvalidInput(
                "Missing required parameter: operations",
                hint='Give [{"op": "rename", "property": "fee", "to": "amount"}, ...].',
            )
        return self.operations


@tool(
    "registers",
    title="Registers",
    action="read",
    input_schema=tool_schemas.REGISTERS,
    read_schema=tool_schemas.reading(tool_schemas.REGISTERS),
    rare=tool_schemas.RARE_OF_ENTITIES,
    output_schema=tool_schemas.LIST_ANSWER,
)
async def registers(arguments: RegistersArguments, call: Call[Registers]) -> ToolResult:
    """List and manage registers, which group schemas and their objects. describe shows all about one."""
    _READS["registers"].refuse_unread(arguments, arguments.action)
    if arguments.action == "describe":
        caller = Caller.of(call)
        return ToolResult(
            structured=await describe_register(call.service, caller, arguments.ref(), arguments.max_tokens)
        )
    return await _act(call.service.catalogue.registers, Caller.of(call), arguments, arguments.action)


@tool(
    "schemas",
    title="Schemas",
    action="read",
    input_schema=tool_schemas.SCHEMAS,
    read_schema=tool_schemas.reading(tool_schemas.SCHEMAS),
    rare=tool_schemas.RARE_OF_ENTITIES,
    output_schema=tool_schemas.LIST_ANSWER,
)
async def schemas(arguments: SchemasArguments, call: Call[Registers]) -> ToolResult:
    """List and change schemas, which describe objects. preflight tries an update, plan a patch or undo."""
    catalogue, caller, given = call.service.catalogue, Caller.of(call, arguments.reason), arguments
    check_budget(given.max_tokens)
    _READS["schemas"].refuse_unread(given, given.action)
    options: dict[str, Any] = {"if_version": given.if_version, "confirm": given.confirm}
    match given.action:
        case "preflight":
            changed, migration = given.content(), given.migration
            return _report(
                await catalogue.schemas.preflight(caller, given.ref(), changed, merge=True, migration=migration), given
            )
        case "plan" if given.operations is None and given.version is not None:
            return _report(await catalogue.schemas.plan_undo(caller, given.ref(), given.version), given)
        case "plan":
            migration = given.migration
            return _report(await catalogue.schemas.plan(caller, given.ref(), given.patch(), migration=migration), given)
        case "patch":
            migration = given.migration
            return _one(
                await catalogue.schemas.patch(caller, given.ref(), given.patch(), migration=migration, **options), given
            )
        case "undo":
            return _one(await catalogue.schemas.undo(caller, given.ref(), given.version, **options), given)
        case "history":
            page = await catalogue.schemas.history(caller, given.ref(), given.limit, given.offset)
            return _rows(page.items, page, given, has_fields=False)
        case "diff":
            if given.version is None:
                raise InvalidInput(
                    "Missing required parameter: version", hint="Compare it with to_version, or with now."
                )
            found = await catalogue.schemas.diff(caller, given.ref(), given.version, given.to_version)
            return ToolResult(structured=fit_lists(found, ("patch", "changes"), given.max_tokens))
        case "get" if given.as_of is not None or given.version is not None:
            at = None if given.as_of is None else parse_time(given.as_of, "as_of", call.service.now())
            return _one(await catalogue.schemas.as_of(caller, given.ref(), at=at, version=given.version), given)
        case action:
            return await _act(catalogue.schemas, caller, given, action, migration=given.migration)


TOOLS: Final = (registers, schemas, objects, attachments, views, transfer)


async def _act(
    entities: Entities,
    caller: Caller,
    arguments: EntityArguments,
    action: tool_schemas.EntityAction,
    **changes: Any,
) -> ToolResult:
    """Carry out an action on registers or schemas; `changes` are for an update."""
    check_budget(arguments.max_tokens)
    version = arguments.if_version
    match action:
        case "list":
            return _page(await entities.list(caller, arguments.limit, arguments.offset), arguments)
        case "get":
            found = await entities.get(caller, arguments.ref())
        case "create":
            found = await entities.create(caller, arguments.content())
        case "update":
            changes = {**changes, "if_version": version, "confirm": arguments.confirm, "merge": True}
            found = await entities.update(caller, arguments.ref(), arguments.content(), **changes)
        case "delete":
            await entities.delete(caller, arguments.ref(), if_version=version, confirm=arguments.confirm)
            return ToolResult(structured={"deleted": True, "id": arguments.id})
    return _one(found, arguments)


def _one(found: Register | Schema, arguments: EntityArguments) -> ToolResult:
    """A register or schema within the budget; after a change, also its effects and any warnings."""
    wire = _wire(found, arguments.fields_)
    if isinstance(found, Schema):
        wire |= found.change_wire()
        if found.warnings:
            wire["warnings"] = list(found.warnings)
    return ToolResult(structured=fit_one(wire, arguments.max_tokens, has_fields=True))


def _report(report: "EvolutionReport", arguments: EntityArguments) -> ToolResult:
    return ToolResult(
        structured=fit_lists(report.as_json(NextStep.same_tool_call), _REPORT_LISTS, arguments.max_tokens)
    )


def _wire(entity: Register | Schema, fields: list[str] | None) -> dict[str, Any]:
    wire = prune(entity.wire())
    wire.pop("usage", None)  # OpenRegister has this field; Pentad keeps no such statistics
    return wire if fields is None else {"id": entity.id, **projected(wire, fields)}


def _page(page: Page[Register] | Page[Schema], arguments: EntityArguments) -> ToolResult:
    return _rows([_wire(one, arguments.fields_) for one in page.items], page, arguments, has_fields=True)


def _rows(rows: list[dict[str, Any]], page: Page[Any], arguments: EntityArguments, *, has_fields: bool) -> ToolResult:
    def build(fitted: Fitted) -> dict[str, Any]:
        body: dict[str, Any] = {"results": fitted.rows, "total": page.total}
        following = page.offset + len(fitted.rows)
        if following >= page.total or not fitted.rows:
            return body
        said = more_to_read(len(fitted.rows), page.total, f"offset={following}")
        return {**body, "next_offset": following, **said}

    return ToolResult(structured=build_response(rows, arguments.max_tokens, build, has_fields=has_fields))
