"""The `objects` tool: its arguments, and a method for each of its actions."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast, get_args

from pydantic import Field

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.mcp.app_views import AppView
from pentad.mcp.arguments import ActionTable, Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.extension import Extension
from pentad.rooms.registers.interface.response_budget import (
    Fitted,
    build_response,
    check_budget,
    fit_facets,
    fit_lists,
    fit_one,
)
from pentad.rooms.registers.models import Caller, Operation, Pair, StoredObject
from pentad.rooms.registers.objects import change_log
from pentad.rooms.registers.objects.change_log import Change
from pentad.rooms.registers.objects.neighbours import Direction
from pentad.rooms.registers.objects.plans import Plan
from pentad.rooms.registers.presentation import (
    NOTHING_CHANGED,
    operation_of,
    present,
    present_outcomes,
    refuse_metadata,
    visible_schema,
    with_warnings,
)
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.query.models import DEFAULT_LIMIT, Query, QueryResult
from pentad.rooms.registers.query.pagination import offset_of
from pentad.rooms.registers.query.parser import parse_fields
from pentad.rooms.registers.service import Registers

if TYPE_CHECKING:
    from pentad.kernel.pages import Sheet

Answer = dict[str, Any]
_QUERY: Final = ("filter", "search", "sort", "cursor", "page", "facets", "as_of", "deleted")
_HISTORY_LIMIT: Final = 20
_READS: Final = ActionTable.of(
    "register schema max_tokens reason",
    list="filter search sort cursor page count facets aggregate as_of limit offset fields extend deleted",
    get="id as_of fields extend",
    create="id data idempotency_key fields",
    update="id data if_version idempotency_key fields",
    patch="id data json_patch if_version idempotency_key fields",
    upsert="id data key if_version idempotency_key fields",
    delete="id if_version idempotency_key",
    bulk="operations atomic idempotency_key",
    plan="operations filter data",
    commit="plan",
    undo="plan id if_version fields",
    history="id limit cursor",
    diff="id version to_version",
    revert="id version as_of if_version fields",
    verify="id",
    changes="limit cursor plan",
    lock="id seconds fields",
    unlock="id fields",
    restore="id filter fields",
    purge="id filter confirm",
    can_delete="id",
    uses="id limit offset cursor",
    used="id limit offset cursor",
)
_AGGREGATE_READS: Final = ActionTable.of(
    "register schema max_tokens reason", aggregate="filter search sort cursor aggregate as_of limit offset"
)
"""The arguments that a list with an aggregate reads."""


class Row(Arguments):
    """One row of a bulk write or a plan."""

    action: tool_schemas.WriteAction = "create"
    id: int | str | None = None
    data: dict[str, Any] | None = None
    key: list[str] = Field(default_factory=list[str])
    if_version: int | None = None

    def operation(self, pair: Pair) -> Operation:
        return operation_of(pair, self.action, self.data, self.id, key=tuple(self.key), if_version=self.if_version)


class ObjectsArguments(Arguments):
    """The arguments of all actions; each action checks that it has what it needs."""

    action: tool_schemas.ObjectAction
    register_: Annotated[int | str | None, Field(alias="register")] = None
    schema_: Annotated[int | str | None, Field(alias="schema")] = None
    id: int | str | None = None
    data: dict[str, Any] | None = None
    filter: dict[str, Any] | None = None
    search: Annotated[str | None, Field(max_length=2000)] = None
    sort: list[str] | dict[str, Literal["asc", "desc"]] | None = None
    cursor: Annotated[str | None, Field(max_length=4000)] = None
    page: Annotated[int | None, Field(ge=1, lt=2**31)] = None
    count: bool = True
    facets: list[str | dict[str, Any]] | dict[str, Any] | None = None
    aggregate: dict[str, Any] | None = None
    as_of: str | int | float | None = None
    if_version: int | None = None
    idempotency_key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    json_patch: list[dict[str, Any]] | None = None
    operations: Annotated[list[Row] | None, Field(min_length=1, max_length=10_000)] = None
    atomic: bool = True
    key: list[str] | None = None
    plan: Annotated[str | None, Field(max_length=100)] = None
    version: int | None = None
    to_version: int | None = None
    seconds: Annotated[int, Field(ge=1, le=86_400)] = 3600
    limit: Annotated[int | None, Field(ge=0)] = None
    offset: Annotated[int, Field(ge=0, lt=2**53)] = 0
    fields_: Annotated[list[str] | None, Field(alias="fields")] = None
    extend: list[str] | None = None
    max_tokens: int | None = None
    deleted: Literal["include", "only"] | None = None
    confirm: Annotated[str | None, Field(max_length=100)] = None
    reason: Annotated[str | None, Field(max_length=2000)] = None

    def place(self) -> tuple[int | str, int | str]:
        """The register and schema."""
        if self.register_ in (None, "") or self.schema_ in (None, ""):
            raise InvalidInput(
                "Both register and schema IDs are required for object operations.",
                hint="Give each as id, uuid or slug; registers with action=list shows what there is.",
            )
        return self.register_, self.schema_

    def ref(self) -> int | str:
        if self.id is None or self.id == "":
            raise InvalidInput("Missing required parameter: id", hint="Give the object's uuid, slug or unique value.")
        return self.id

    def operation(self, pair: Pair, action: tool_schemas.WriteAction) -> Operation:
        """The write of one object."""
        if self.data is None:
            raise InvalidInput("Missing required parameter: data", hint='Give data {"property": value, ...}.')
        key = tuple(self.key or ())
        return operation_of(pair, action, self.data, self.id, key=key, if_version=self.if_version)

    def patch(self) -> list[dict[str, Any]] | None:
        """The JSON Patch; None for a merge patch, which is the data."""
        if self.json_patch is not None and self.data is not None:
            raise InvalidInput("A patch is given as data or as json_patch, not as both.", hint="Leave one of them out.")
        return self.json_patch

    def rows(self, pair: Pair) -> list[Operation]:
        if self.operations is None:
            raise InvalidInput(
                "Missing required parameter: operations", hint='Give [{"action": "create", "data": {...}}, ...].'
            )
        return [row.operation(pair) for row in self.operations]

    def plan_id(self) -> str:
        if self.plan is None:
            raise InvalidInput("Missing required parameter: plan", hint="action=plan gives a plan's id.")
        return self.plan


class ObjectActions:
    """Handles one call of the tool: from arguments to the JSON of the answer."""

    def __init__(self, registers: Registers, caller: Caller, arguments: ObjectsArguments) -> None:
        self._registers = registers
        self._caller = caller
        self._given = arguments

    async def run(self) -> Answer:
        if self._given.max_tokens is not None:
            check_budget(self._given.max_tokens)
        if self._given.action == "list" and self._given.aggregate is not None:
            _AGGREGATE_READS.refuse_unread(self._given, "aggregate", "A list with aggregate")
        elif not self._given.model_fields_set <= _READS.fields[self._given.action]:
            _READS.refuse_unread(self._given, self._given.action)
        register, schema = self._given.place()
        pair = await self._registers.catalogue.pair(self._caller, register, schema)
        if self._given.fields_ is not None and self._given.action not in ("list", "get"):
            # refuse unknown names before writing anything
            parse_fields(visible_schema(self._registers.access, self._caller, pair), self._given.fields_)
        act: Callable[[Pair], Awaitable[Answer]] = getattr(self, f"_{self._given.action}")
        return await act(pair)

    # reading

    async def _list(self, pair: Pair) -> Answer:
        given = self._given
        if given.aggregate is not None:
            return await self._aggregate(pair)
        raw = {name: getattr(given, name) for name in _QUERY if getattr(given, name) is not None}
        raw |= {"fields": given.fields_, "limit": given.limit, "offset": given.offset, "count": given.count}
        query = await self._registers.objects.query_of(self._caller, pair, raw, related=True)
        extension = await self._extension(pair)
        found = await self._registers.objects.find(self._caller, pair, query)
        objects = [StoredObject(*row) for row in found.rows]
        rows = [self._present(pair, stored, query.fields) for stored in objects]
        if extension is not None:
            rows = await extension.apply(pair, rows, query.as_of)
        if query.related:
            await self._registers.objects.add_related(self._caller, query, objects, rows)
        _explain(rows, found)
        facets, left_out = fit_facets(found.facets, given.max_tokens)

        def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows, **found.retrieval_info()}
            if found.total is not None:
                body["total"] = found.total
            cursor = found.cursor
            if fitted.rows_cut and found.cursor_after is not None:
                cursor = found.cursor_after(len(fitted.rows))
            if cursor is not None:
                body |= fitted.next_page(cursor, found.total, first=given.cursor is None)
            if facets:
                body["facets"] = facets
            if left_out:
                body["cut"] = {"max_tokens": given.max_tokens, "facets_left_out": left_out}
            return body

        return build_response(rows, given.max_tokens, build, has_fields=True)

    async def _aggregate(self, pair: Pair) -> Answer:
        given = self._given
        offset = offset_of(given.cursor) or given.offset
        members: dict[str, Any] = {
            "filter": given.filter, "search": given.search, "as_of": given.as_of, "sort": given.sort,
            "limit": given.limit, "offset": offset,
        }  # fmt: skip
        raw = {**{name: value for name, value in members.items() if value is not None}, **(given.aggregate or {})}
        query = await self._registers.objects.aggregate_of(self._caller, pair, raw)
        found = await self._registers.objects.aggregate(self._caller, pair, query, total=True)

        def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows}
            if found.total is not None:
                body["total"] = found.total
            if found.more or fitted.rows_cut:
                cursor = str(query.offset + len(fitted.rows))
                body |= {"more": True, **fitted.next_page(cursor, None, "group", first=offset == 0)}
            return body if found.retrieval is None else {**body, "retrieval": found.retrieval}

        return build_response(found.groups, given.max_tokens, build)

    async def _get(self, pair: Pair) -> Answer:
        given = self._given
        query = Query(as_of=None if given.as_of is None else parse_as_of(given.as_of, self._registers.now()))
        if given.fields_ is not None:
            raw = {"fields": given.fields_, "as_of": given.as_of}
            query = await self._registers.objects.query_of(self._caller, pair, raw, related=True)
        extension = await self._extension(pair)
        stored = await self._registers.objects.get(self._caller, pair, given.ref(), as_of=query.as_of)
        wire = self._present(pair, stored, query.fields)
        if extension is not None:
            [wire] = await extension.apply(pair, [wire], query.as_of)
        if query.related:
            await self._registers.objects.add_related(self._caller, query, [stored], [wire])
        return self._fitted(wire)

    async def _extension(self, pair: Pair) -> Extension | None:
        """The related objects to show instead of their ids."""
        if not self._given.extend:
            return None
        names = tuple(dict.fromkeys(name.strip() for text in self._given.extend for name in text.split(",")))
        extension = Extension(self._registers, self._caller, names, brief=True)
        await extension.check(pair)
        return extension

    async def _uses(self, pair: Pair) -> Answer:
        return await self._neighbours(pair, "uses")

    async def _used(self, pair: Pair) -> Answer:
        return await self._neighbours(pair, "used")

    async def _neighbours(self, pair: Pair, direction: Direction) -> Answer:
        """The objects this one refers to, or those that refer to it."""
        given = self._given
        limit = DEFAULT_LIMIT if given.limit is None else given.limit
        offset = offset_of(given.cursor) or given.offset
        found = await self._registers.objects.neighbours(self._caller, pair, given.ref(), direction, limit, offset)
        rows = [self._present(there, stored, None) for there, stored in found]

        def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows, "total": found.total}
            if (shown := offset + len(fitted.rows)) < found.total and fitted.rows:
                body |= fitted.next_page(str(shown), found.total)
            return body

        return build_response(rows, given.max_tokens, build)

    async def _history(self, pair: Pair) -> Answer:
        given = self._given
        limit = _HISTORY_LIMIT if given.limit is None else given.limit
        before = None if given.cursor is None else change_log.position(given.cursor)[1]
        changes = await self._registers.history.of(self._caller, pair, given.ref(), limit, before)

        def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows}
            if fitted.rows and (fitted.rows_cut or len(changes) == limit):
                cursor = changes[len(fitted.rows) - 1].cursor
                body |= fitted.next_page(cursor, None, "change", first=given.cursor is None)
            return body

        return build_response([_change_row(change) for change in changes], given.max_tokens, build)

    async def _diff(self, pair: Pair) -> Answer:
        given = self._given
        if given.version is None:
            raise InvalidInput("Missing required parameter: version", hint="Compare it with to_version, or with now.")
        found = await self._registers.history.diff(self._caller, pair, given.ref(), given.version, given.to_version)
        return fit_lists(found, ("patch", "changes"), given.max_tokens)

    async def _verify(self, pair: Pair) -> Answer:
        found = await self._registers.history.verify(self._caller, pair, self._given.ref())
        return fit_lists(found.wire(), ("problems",), self._given.max_tokens)

    async def _changes(self, pair: Pair) -> Answer:
        given = self._given
        limit = _HISTORY_LIMIT if given.limit is None else given.limit
        changes, cursor = await self._registers.history.feed(
            self._caller, given.cursor, pair.register.id, pair.schema.id, limit, given.plan
        )
        rows = [_change_row(change) for change in changes]

        def build(fitted: Fitted) -> Answer:
            ends_at = rows[len(fitted.rows) - 1]["cursor"] if fitted.rows_cut else cursor
            body: Answer = {"results": fitted.rows, "cursor": ends_at}
            if fitted.rows and (fitted.rows_cut or len(changes) == limit):
                body |= fitted.next_page(ends_at, None, "change", first=given.cursor is None)
            return body

        return build_response(rows, given.max_tokens, build)

    async def _can_delete(self, pair: Pair) -> Answer:
        report = await self._registers.objects.can_delete(self._caller, pair, self._given.ref())
        lists = ("blockers", "cascadeTargets", "nullifyTargets", "defaultTargets")
        return fit_lists(report.wire(), lists, self._given.max_tokens)

    # writing

    async def _create(self, pair: Pair) -> Answer:
        return await self._write(pair, self._given.operation(pair, "create"))

    async def _update(self, pair: Pair) -> Answer:
        self._given.ref()
        return await self._write(pair, self._given.operation(pair, "update"))

    async def _upsert(self, pair: Pair) -> Answer:
        return await self._write(pair, self._given.operation(pair, "upsert"))

    async def _write(self, pair: Pair, operation: Operation) -> Answer:
        key = self._given.idempotency_key
        stored = await self._registers.objects.write(self._caller, pair, operation, key)
        return self._one(pair, stored, written=True)

    async def _patch(self, pair: Pair) -> Answer:
        given = self._given
        ref = given.ref()
        if (patch := given.patch()) is None:
            return await self._write(pair, given.operation(pair, "patch"))
        refuse_metadata(pair, patch)
        operation = Operation("json_patch", None, ref, if_version=given.if_version, patch=tuple(patch))
        return await self._write(pair, operation)

    async def _delete(self, pair: Pair) -> Answer:
        given = self._given
        stored = await self._registers.objects.delete(
            self._caller, pair, given.ref(), if_version=given.if_version, idempotency_key=given.idempotency_key
        )
        return {"deleted": True, "id": stored.uuid, "next": "action=restore with this id brings it back."}

    async def _bulk(self, pair: Pair) -> Answer:
        given = self._given
        outcomes = await self._registers.objects.bulk(
            self._caller, pair, given.rows(pair), atomic=given.atomic, idempotency_key=given.idempotency_key
        )
        body = present_outcomes(self._registers.access, self._caller, pair, outcomes)
        if given.max_tokens is None:
            return body

        def build(fitted: Fitted) -> Answer:
            said = {"note": "Rows that succeeded are left out first."} if fitted.rows_cut else {}
            return {**body, "results": fitted.rows, **said}

        failed_first = sorted(body["results"], key=lambda row: row["status"] != "failed")
        return build_response(failed_first, given.max_tokens, build)

    async def _plan(self, pair: Pair) -> Answer:
        given = self._given
        rows = None if given.operations is None else given.rows(pair)
        return self._planned(
            await self._registers.plans.make(self._caller, pair, rows, chosen=given.filter, data=given.data)
        )

    async def _commit(self, _pair: Pair) -> Answer:
        return self._planned(await self._registers.plans.commit(self._caller, self._given.plan_id()))

    async def _undo(self, pair: Pair) -> Answer:
        given = self._given
        if given.plan is None and given.id is not None:
            stored = await self._registers.history.undo_last(self._caller, pair, given.id, if_version=given.if_version)
            return self._one(pair, stored, written=True)
        try:
            return self._planned(await self._registers.plans.undo(self._caller, given.plan_id()))
        except NotFound:
            try:
                state = await self._registers.transfers.get(self._caller, given.plan_id())
            except NotFound:
                state = None
            if state is None:
                raise
        raise InvalidInput(
            f"{state.id} is an {state.kind}, not a plan.", hint=f"Use the tool transfer: action=undo id={state.id}."
        )

    async def _revert(self, pair: Pair) -> Answer:
        given = self._given
        if (given.version is None) == (given.as_of is None):
            raise InvalidInput("Say where to go back to.", hint="Give version, or as_of with a time.")
        stored = await self._registers.history.revert(
            self._caller, pair, given.ref(), version=given.version, at=given.as_of, if_version=given.if_version
        )
        return self._one(pair, stored, written=True)

    async def _lock(self, pair: Pair) -> Answer:
        stored = await self._registers.objects.lock(
            self._caller, pair, self._given.ref(), seconds=self._given.seconds, process=self._given.reason
        )
        return self._one(pair, stored)

    async def _unlock(self, pair: Pair) -> Answer:
        return self._one(pair, await self._registers.objects.unlock(self._caller, pair, self._given.ref()))

    async def _restore(self, pair: Pair) -> Answer:
        if self._given.id is None and self._given.filter is not None:
            outcomes = await self._registers.objects.restore_all(self._caller, pair, await self._deleted(pair))
            body = present_outcomes(self._registers.access, self._caller, pair, outcomes)
            return fit_lists(body, ("results",), self._given.max_tokens)
        if self._given.id is None:
            raise InvalidInput(
                "Missing required parameter: id or filter",
                hint="Give the object's uuid, slug or unique value as id, or a filter; filter {} restores all.",
            )
        stored = await self._registers.objects.restore(self._caller, pair, self._given.ref())
        return self._one(pair, stored, written=True)

    async def _purge(self, pair: Pair) -> Answer:
        if self._given.id is None:
            query, given = await self._deleted(pair), self._given.confirm
            return {"purged": await self._registers.objects.purge_all(self._caller, pair, query, given)}
        await self._registers.objects.purge(self._caller, pair, self._given.ref())
        return {"purged": True, "id": self._given.id}

    async def _deleted(self, pair: Pair) -> Query:
        """The query for deleted objects: those matching the filter, or all."""
        raw = {"filter": self._given.filter, "deleted": "only"}
        return await self._registers.objects.query_of(self._caller, pair, raw)

    # answers

    def _present(self, pair: Pair, stored: StoredObject, fields: tuple[str, ...] | None) -> Answer:
        return present(self._registers.access, self._caller, pair, stored, fields=fields)

    def _one(self, pair: Pair, stored: StoredObject, *, written: bool = False) -> Answer:
        """One object within the budget; after a write, with warnings and the result of the write."""
        wire = self._wire(pair, stored)
        if written:
            wire = with_warnings(self._registers.access, self._caller, pair, stored, wire)
            if self._given.action == "upsert":
                status = "unchanged" if stored.unchanged else "created" if stored.version == 1 else "updated"
                wire = {**wire, "@self": {**wire.get("@self", {}), "status": status}}
            if stored.unchanged and "note" not in pair.definition.properties:
                wire = {**wire, "note": wire.get("note", NOTHING_CHANGED)}
        return self._fitted(wire)

    def _wire(self, pair: Pair, stored: StoredObject) -> Answer:
        fields = self._given.fields_
        return self._present(pair, stored, tuple(fields) if fields is not None else None)

    def _fitted(self, wire: Answer) -> Answer:
        return wire if self._given.max_tokens is None else fit_one(wire, self._given.max_tokens, has_fields=True)

    def _planned(self, plan: Plan) -> Answer:
        """A plan within the budget, refused rows first."""
        wire = plan.wire()
        if self._given.max_tokens is None:
            return {**wire, **_next_step(plan)}
        if "preview" in wire:
            wire["preview"] = sorted(wire["preview"], key=lambda row: row.get("error") is None)
        return fit_lists(wire, ("preview", "outcomes"), self._given.max_tokens)


def _next_step(plan: Plan) -> Answer:
    match plan.state:
        case "open" if plan.valid:
            return {"next": "Nothing is written yet: action=commit with this id as plan does it."}
        case "open":
            return {"next": "Nothing is written. Correct the rows with an error, and plan again."}
        case "committed":
            return {"next": "action=undo with this id as plan takes it back."}
        case "undone":
            return {}


def actions_of(arguments: Mapping[str, Any]) -> set[str]:
    """The actions of a call, for access rules: those of each row or, for a plan, all it may contain."""
    action: str = arguments["action"]
    if action == "bulk":
        rows: list[dict[str, Any]] = arguments.get("operations") or []
        return {action, *(row.get("action", "create") for row in rows)}
    return {action, *get_args(tool_schemas.WriteAction)} if action in ("commit", "undo") else {action}


async def _show_objects(call: Call[Registers], arguments: ObjectsArguments, found: Mapping[str, Any]) -> "Sheet | None":
    """The view of a list of objects, or of one."""
    from pentad.kernel.pages import Cell, Links, Pager, Sheet, ToolCall, Visit
    from pentad.rooms.registers.interface.console.object_blocks import object_facts, object_table
    from pentad.rooms.registers.interface.console.pair_page import PairPage
    from pentad.rooms.registers.interface.console.values import Values

    registers, caller = call.service, Caller.of(call, arguments.reason)
    pair = await registers.catalogue.pair(caller, *arguments.place())
    page = PairPage(registers, Visit(caller.principal), caller, pair)
    if arguments.action == "list":
        table = await object_table(page, found["results"], arguments.fields_)
        given = {**arguments.model_dump(mode="json", by_alias=True, exclude_unset=True), **page.arguments}
        more = ToolCall("objects", {**given, "cursor": found["cursor"]}) if "cursor" in found else None
        total = [Pager(f"{found['total']:,} in all")] if "total" in found else []
        return Sheet(page.title, [table, *total, *([Links([Cell("Next page", call=more)])] if more else [])])
    about = found.get("@self")
    if not isinstance(about, dict):
        return None
    every = ToolCall("objects", {"action": "list", **page.arguments})
    return Sheet(
        str(cast("dict[str, Any]", about).get("name") or found.get("id") or page.title),
        [object_facts(page, found, await Values.of(page, [found])), Links([Cell(f"All of {page.title}", call=every)])],
        lead=page.title,
    )


@tool(
    "objects",
    title="Objects",
    action="read",
    view=AppView("objects", "Objects", _show_objects),
    input_schema=tool_schemas.OBJECTS,
    read_schema=tool_schemas.reading(tool_schemas.OBJECTS),
    rare=tool_schemas.RARE,
    actions_of=actions_of,
    tags=("search",),
    output_schema=tool_schemas.OBJECTS_ANSWER,
)
async def objects(arguments: ObjectsArguments, call: Call[Registers]) -> ToolResult:
    """Query and change objects of a schema; every change is kept and can be undone. uses/used: what it refers to/what
    refers to it; can_delete: what deletion would touch; verify: is its history intact; changes: all changes."""
    caller = Caller.of(call, arguments.reason)
    return ToolResult(structured=await ObjectActions(call.service, caller, arguments).run())


def _explain(rows: list[Answer], found: QueryResult) -> None:
    """Add its relevance, and the reasons, to each hit."""
    for row, relevance in zip(rows, found.relevance, strict=False):
        row["@relevance"] = round(relevance, 4)
    for row, why in zip(rows, found.why, strict=False):
        row["@why"] = why.wire()


def _change_row(change: Change) -> Answer:
    """A change without its hash: `verify` checks it, and few callers read it."""
    row = change.wire()
    row.pop("hash", None)
    return row
