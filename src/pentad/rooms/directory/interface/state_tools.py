"""Tools for the states of records: drafts, proposals, approvals, deprecations and withdrawals."""

from dataclasses import asdict
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import tool
from pentad.rooms.directory.interface.reference_tools import Reference, ReferenceArguments
from pentad.rooms.directory.models import State
from pentad.rooms.directory.records.states import LONGEST_REASON, RecordState
from pentad.rooms.directory.service import Directory

_LONGEST_CURSOR: Final = 18


class StatesArguments(Arguments):
    reference: Annotated[Reference | None, Field(description="One record: its state and every change of it.")] = None
    state: Annotated[State | None, Field(description="Or: the records in this state, newest first.")] = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Annotated[
        str | None, Field(description="next_cursor of the previous page.", max_length=_LONGEST_CURSOR)
    ] = None


class SetStateArguments(ReferenceArguments):
    state: State
    reason: Annotated[str, Field(description="Hosts show it for deprecated.", max_length=LONGEST_REASON)] = ""


class Change(BaseModel):
    old_state: str
    new_state: str
    reason: str
    changed_by: str
    changed_at: str


class StateOfRecord(BaseModel):
    cid: str
    name: str
    version: str
    state: str
    pushed_by: str
    pushed_at: str
    quarantined: str | None = None
    history: list[Change] | None = None


class FoundStates(BaseModel):
    records: list[StateOfRecord]
    next_cursor: str | None = None


@tool("directory_states", title="States of records", read_only=True, listed="room")
async def states(arguments: StatesArguments, call: Call[Directory]) -> FoundStates:
    """Which records are drafts, proposed, approved, deprecated or withdrawn. MCP hosts get only approved ones."""
    directory = call.service
    directory.require_local()
    if arguments.reference is not None:
        found = await directory.naming.find_last_pushed(arguments.reference)
        return FoundStates(records=[_state_view(await directory.states.get(found.cid), with_history=True)])
    if arguments.state is None:
        raise InvalidInput("Neither a reference nor a state was given.", hint='Ask for {"state": "proposed"}.')
    if arguments.cursor is not None and not (arguments.cursor.isascii() and arguments.cursor.isdigit()):
        raise InvalidInput("The cursor cannot be read.", hint="Send next_cursor of the previous page.")
    below = None if arguments.cursor is None else int(arguments.cursor)
    page, after = await directory.states.in_state(arguments.state, arguments.limit, below)
    shown = [_state_view(one, with_history=False) for one in page]
    return FoundStates(records=shown, next_cursor=None if after is None else str(after))


@tool("directory_set_state", title="Approve or withdraw a record", destructive=False, listed="room")
async def set_state(arguments: SetStateArguments, call: Call[Directory]) -> StateOfRecord:
    """Propose, approve, deprecate or withdraw a record, or make it a draft. Only administrators approve."""
    directory = call.service
    directory.require_local()
    found = await directory.naming.find_last_pushed(arguments.reference)
    await directory.states.set(call.principal, [found.cid], arguments.state, arguments.reason)
    return _state_view(await directory.states.get(found.cid), with_history=True)


def _state_view(state: RecordState, *, with_history: bool) -> StateOfRecord:
    fields: dict[str, Any] = asdict(state)
    return StateOfRecord.model_validate({**fields, "history": fields["history"] if with_history else None})


STATE_TOOLS: Final = (states, set_state)
