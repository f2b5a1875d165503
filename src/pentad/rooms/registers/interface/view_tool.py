"""The `views` tool: save, list, change, delete and run views."""

from typing import Annotated, Any, Final

from pydantic import Field, StrictBool, StrictInt, ValidationError

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import ActionTable, Arguments, argument_error
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.response_budget import (
    Fitted,
    build_response,
    check_budget,
    fit_one,
)
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.query.models import LARGEST_LIMIT
from pentad.rooms.registers.query.pagination import offset_of
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.views.definition import View

_DEFAULT_TOKENS: Final = 4_000
"""The budget of a run if neither the call nor the view sets one."""
_READS: Final = ActionTable.of(
    "max_tokens",
    list="cursor limit",
    get="id",
    create="data",
    update="id data if_version",
    delete="id if_version",
    run="id filter cursor limit",
)


class ViewData(Arguments):
    """A query to save, with a title and columns."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    register_: Annotated[StrictInt | str, Field(alias="register")]
    schema_: Annotated[StrictInt | str, Field(alias="schema")]
    query: Annotated[
        dict[str, Any], Field(description="filter, search, sort, columns or fields, limit, facets; or aggregate.")
    ] = Field(default_factory=dict[str, Any])
    slug: Annotated[str | None, Field(description="A readable name for URLs; made from the title by default.")] = None
    description: Annotated[str, Field(max_length=2000)] = ""
    shared: Annotated[StrictBool, Field(description="Whether members of your organisation can use it.")] = False


async def save_view(registers: Registers, caller: Caller, given: ViewData) -> View:
    """Save a new view."""
    pair = await registers.catalogue.pair(caller, given.register_, given.schema_)
    return await registers.views.create(
        caller, pair, given.title, given.query, slug=given.slug, description=given.description, shared=given.shared
    )


class ViewsArguments(Arguments):
    action: tool_schemas.ViewAction
    id: Annotated[str | None, Field(max_length=200)] = None
    data: dict[str, Any] | None = None
    filter: dict[str, Any] | None = None
    cursor: Annotated[str | None, Field(max_length=4000)] = None
    limit: Annotated[int | None, Field(ge=0, le=LARGEST_LIMIT)] = None
    if_version: int | None = None
    max_tokens: int | None = None

    def ref(self) -> str:
        if not self.id:
            raise InvalidInput("Missing required parameter: id", hint="Give the id or slug of a view.")
        return self.id

    def content(self) -> dict[str, Any]:
        if self.data is None:
            raise InvalidInput(
                "Missing required parameter: data",
                hint='Give data {"title": ..., "register": ..., "schema": ..., "query": {"columns": [...]}}.',
            )
        return self.data


@tool(
    "views",
    title="Views",
    action="read",
    listed="room",
    input_schema=tool_schemas.VIEWS,
    read_schema=tool_schemas.reading(tool_schemas.VIEWS),
    output_schema=tool_schemas.LIST_ANSWER,
)
async def views(arguments: ViewsArguments, call: Call[Registers]) -> ToolResult:
    """Saved queries with columns, expressions and rollups over relations. run returns the rows of a view; update keeps
    what you leave out."""
    check_budget(arguments.max_tokens)
    _READS.refuse_unread(arguments, arguments.action)
    return ToolResult(structured=await _act(call.service, Caller.of(call), arguments))


async def _act(registers: Registers, caller: Caller, arguments: ViewsArguments) -> dict[str, Any]:
    service = registers.views
    match arguments.action:
        case "run":
            return await _run(registers, caller, arguments)
        case "list":
            return await _list(registers, caller, arguments)
        case "delete":
            gone = await service.delete(caller, arguments.ref(), if_version=arguments.if_version)
            return {"deleted": True, "id": gone.id}
        case "get":
            view = await service.get(caller, arguments.ref())
        case "update":
            version = arguments.if_version
            view = await service.update(caller, arguments.ref(), arguments.content(), merge=True, if_version=version)
        case "create":
            try:
                given = ViewData.model_validate(arguments.content())
            except ValidationError as error:
                raise argument_error(ViewData, error, arguments.content()) from None
            view = await save_view(registers, caller, given)
    wire = await service.described(caller, view)
    return fit_one(wire, arguments.max_tokens)


async def _list(registers: Registers, caller: Caller, arguments: ViewsArguments) -> dict[str, Any]:
    found = await registers.views.visible(caller)
    start = offset_of(arguments.cursor)
    end = len(found) if arguments.limit is None else start + arguments.limit
    rows = [await registers.views.described(caller, one) for one in found[start:end]]

    def build(fitted: Fitted) -> dict[str, Any]:
        following = start + len(fitted.rows)
        body: dict[str, Any] = {"results": fitted.rows, "total": len(found)}
        if following >= len(found) or not fitted.rows:
            return body
        return {**body, **fitted.next_page(str(following), len(found), "view")}

    return build_response(rows, arguments.max_tokens, build)


async def _run(registers: Registers, caller: Caller, arguments: ViewsArguments) -> dict[str, Any]:
    page = await registers.views.run(
        caller, arguments.ref(), filter=arguments.filter, limit=arguments.limit, cursor=arguments.cursor
    )
    budget = arguments.max_tokens
    if budget is None and arguments.limit is None and not page.view.has_limit:
        budget = _DEFAULT_TOKENS

    def build(fitted: Fitted) -> dict[str, Any]:
        body: dict[str, Any] = {**page.wire(), "results": fitted.rows}
        if fitted.rows_cut and page.cursor_after is not None:
            body["cursor"] = page.cursor_after(len(fitted.rows))
        if "cursor" in body:
            what = "group" if page.is_grouped else "row"
            first = arguments.cursor is None
            body |= fitted.next_page(body["cursor"], page.total, what, first=first)
        return body

    return build_response(page.rows, budget, build)
