"""The `transfer` tool: imports and exports that run in the background, with progress.

A call that starts one waits briefly, so small files finish within the call. While it waits, it reports progress to
clients that ask for it.
"""

import asyncio
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.mcp.arguments import ActionTable, Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, input_schema_of, tool
from pentad.rooms.registers.attachments.files import decode_base64
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.formats import format_named
from pentad.rooms.registers.transfer.transfer_jobs import TransferState

_LOOK_SECONDS: Final = 0.1
_INLINE_BYTES: Final = 4_000
_TO_IMPORT: Final = frozenset({"content", "base64", "attachment", "key", "partial", "dry_run", "new_ids", "reason"})
_SELECTION: Final = ("filter", "search", "sort", "as_of")
_READS: Final = ActionTable.of(
    "register schema reason",
    **{"import": "format content base64 attachment key partial dry_run new_ids wait"},
    export="format filter search sort fields as_of wait",
    status="id wait",
    list="",
    cancel="id",
    undo="id",
)


class AttachmentName(Arguments):
    """A file attached to an object of the same register and schema."""

    id: int | str
    name: Annotated[str, Field(min_length=1, max_length=200)]


class TransferArguments(Arguments):
    """The arguments of all actions; each action checks that it has what it needs."""

    action: Literal["import", "export", "status", "list", "cancel", "undo"]
    register_: Annotated[int | str | None, Field(alias="register")] = None
    schema_: Annotated[int | str | None, Field(alias="schema")] = None
    id: Annotated[str | None, Field(max_length=100, description="with status, cancel, undo: the transfer")] = None
    format: Annotated[str, Field(max_length=20, description="csv, xlsx, json or jsonl")] = "csv"
    content: Annotated[str | None, Field(description="the file to import, as text")] = None
    base64: Annotated[str | None, Field(description="or in base64")] = None
    attachment: Annotated[AttachmentName | None, Field(description="or attached to an object")] = None
    key: Annotated[list[str] | None, Field(description="properties that find the object of a row")] = None
    partial: Annotated[bool, Field(description="keep the good rows even if others are bad")] = False
    dry_run: Annotated[bool, Field(description="only check")] = False
    new_ids: Annotated[bool, Field(description="make new objects, e.g. copies of another register's")] = False
    filter: Annotated[dict[str, Any] | None, Field(description="with export, as in objects")] = None
    search: Annotated[str | None, Field(max_length=2000)] = None
    sort: list[str] | None = None
    fields_: Annotated[list[str] | None, Field(alias="fields")] = None
    as_of: str | int | float | None = None
    wait: Annotated[float, Field(ge=0, le=50, description="seconds to wait for the result")] = 10
    reason: Annotated[str | None, Field(max_length=2000, description="why, for the history")] = None

    def transfer_id(self) -> str:
        if not self.id:
            raise InvalidInput("Missing required parameter: id", hint="action=list shows your transfers.")
        return self.id


def _read_schema() -> dict[str, Any]:
    """The input schema for read-only callers."""
    schema = input_schema_of(TransferArguments)
    used = {name: one for name, one in schema["properties"].items() if name not in _TO_IMPORT}
    action = {"type": "string", "enum": ["export", "status", "list", "cancel"]}
    return {**schema, "properties": {**used, "action": action}}


@tool("transfer", title="Import and export", action="read", listed="room", read_schema=_read_schema())
async def transfer(arguments: TransferArguments, call: Call[Registers]) -> ToolResult:
    """Import objects from a file or export them to one, in the background. Returns the state, or the result if it ends
    soon; ask for the status later, or cancel. undo takes back what an import wrote. Read an export's file as the
    resource at its uri. Reference columns may name a unique property of the target: applicant.bsn."""
    _READS.refuse_unread(arguments, arguments.action)
    transfers, caller = call.service.transfers, Caller.of(call, arguments.reason)
    if arguments.action == "list":
        return ToolResult(structured={"results": [one.wire() for one in await transfers.list(caller)]})
    if arguments.action == "cancel":
        return ToolResult(structured=(await transfers.cancel(caller, arguments.transfer_id())).wire())
    if arguments.action == "undo":
        return ToolResult(structured=(await transfers.undo(caller, arguments.transfer_id())).wire())
    if arguments.action == "status":
        state = await transfers.get(caller, arguments.transfer_id())
    else:
        state = await _start(call.service, caller, arguments)
    return ToolResult(structured=await _answer(call, caller, await _followed(call, caller, state, arguments.wait)))


async def _start(registers: Registers, caller: Caller, given: TransferArguments) -> TransferState:
    if given.register_ in (None, "") or given.schema_ in (None, ""):
        raise InvalidInput(
            "Missing required parameters: register and schema", hint="Give each as id, uuid or slug."
        )  # fmt: skip
    kind = format_named(given.format)
    right = "create" if given.action == "import" else "read"
    pair = await registers.catalogue.pair(caller, given.register_, given.schema_, right)
    if given.action == "export":
        selection = {name: value for name in _SELECTION if (value := getattr(given, name)) is not None}
        if given.fields_ is not None:
            selection["fields"] = given.fields_
        return await registers.transfers.start_export(caller, pair, kind, selection)
    registers.access.check(caller, pair, "create")
    options = {
        "key": given.key or [], "partial": given.partial, "dry_run": given.dry_run, "new_ids": given.new_ids,
    }  # fmt: skip
    name = None if given.attachment is None else given.attachment.name
    return await registers.transfers.start_import(
        caller, pair, await _file(registers, caller, pair, given), kind, options, name
    )


async def _file(registers: Registers, caller: Caller, pair: Pair, given: TransferArguments) -> bytes:
    if sum(one is not None for one in (given.content, given.base64, given.attachment)) != 1:
        raise InvalidInput("An import needs one file.", hint="Give one of content, base64 and attachment.")
    if given.content is not None:
        return given.content.encode("utf-8", "surrogatepass")
    if given.base64 is not None:
        return decode_base64(given.base64, "base64", "Or give text files as content.")
    assert given.attachment is not None  # noqa: S101  it is the only one left
    stored = await registers.objects.get(caller, pair, given.attachment.id)
    attachment = await registers.attachments.get(stored, given.attachment.name)
    most = registers.platform.limits.upload_bytes
    if attachment.size > most:
        raise LimitExceeded(f"The file has {attachment.size:,} bytes; the limit is {most:,}.", hint="Split it.")
    return await registers.attachments.content(attachment)


async def _followed(call: Call[Registers], caller: Caller, state: TransferState, seconds: float) -> TransferState:
    """The state when the job ends or the time is up. Reports progress to the client."""
    transfers = call.service.transfers
    told = None
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not state.is_over and loop.time() < end:
        await asyncio.sleep(_LOOK_SECONDS)
        progress = transfers.progress(state)
        if progress is not None and progress != told:
            told = progress
            phase, done, total = progress
            await call.progress(done, total, f"{phase}: {counted(done, 'row')}")
        state = await transfers.get(caller, state.id)
    return state


async def _answer(call: Call[Registers], caller: Caller, state: TransferState) -> dict[str, Any]:
    body = state.wire()
    if (progress := call.service.transfers.progress(state)) is not None:
        phase, done, total = progress
        body["progress"] = {"phase": phase, "done": done, **({} if total is None else {"total": total})}
    if not state.is_over:
        body["note"] = f"It continues in the background. Ask again with action=status and id={state.id}."
    elif state.has_file:
        body["note"] = f"Read the file as the resource {state.uri}. It is kept for a day."
        if state.size <= _INLINE_BYTES and state.request.format != "xlsx":
            _, pieces = await call.service.transfers.content(caller, state.id)
            body["content"] = b"".join([piece async for piece in pieces]).decode("utf-8-sig")
    elif body.get("problems"):
        body["note"] = (
            "Nothing was written. Correct the rows named in problems, or import with partial=true."
            if state.state == "failed"
            else "The rows named in problems were left out."
        )
    if state.can_be_undone:
        body["next"] = (
            f"transfer action=undo id={state.id} takes it back; objects action=changes plan={state.id} lists what it"
            " wrote."
        )
    return body
