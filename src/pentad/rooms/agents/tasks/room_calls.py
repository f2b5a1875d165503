"""Calls from agents to rooms: tools, resources, search, other agents.

Every call goes through the dispatcher (`Platform.neighbours`) with the caller's current rights, like a call from
outside. The journal records it, it counts against the budget, and it is a span in the task's trace.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from pentad.access.owners import owner_is_gone
from pentad.kernel.errors import Forbidden, LimitExceeded, NotFound
from pentad.kernel.ports import Rows
from pentad.kernel.trace import TraceParent
from pentad.mcp.content import Contents
from pentad.mcp.wire_errors import error_from_result
from pentad.rooms.agents.hosting.built_in_agents import text_of
from pentad.rooms.agents.hosting.turn import ChildTask, ConversationPage, TurnOver
from pentad.rooms.agents.models import RESTING, Json
from pentad.rooms.agents.store import conversation_heads
from pentad.rooms.agents.tasks.child_tasks import SEND_TOOL, AgentCall, making_call, span_of, trace_of
from pentad.rooms.agents.tasks.journal import MAX_NAME, Step

if TYPE_CHECKING:
    from pentad.rooms.agents.tasks.task_log import TaskLog
    from pentad.rooms.agents.tasks.turn_runner import Run

T = TypeVar("T")
_GET: Final = "agents_get_task"
_LIST: Final = "agents_list"
_SEARCH: Final = "search"
_LONGEST_WAIT: Final = 600
_USUAL_WAIT: Final = 60
_MOST_CHARACTERS: Final = 500_000
_CANDIDATES: Final = 20


class RoomCalls:
    """The calls to rooms that one run makes (`Rooms`)."""

    def __init__(self, run: "Run", log: "TaskLog") -> None:
        self._run = run
        self._log = log

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """A tool's structured result, or its text; a failed tool raises its error."""
        if name == SEND_TOOL:
            return await self._send_by_tool(arguments)
        repeatable = self._log.neighbours.only_reads(name)
        return await self._durable_call("tool", name, lambda: self._tool(name, arguments), repeatable=repeatable)

    async def _send_by_tool(self, arguments: Mapping[str, Any]) -> Any:
        """The result of the send tool. The task belongs to this one, like those of `send`."""
        number = self._run.next_number()

        async def work() -> Any:
            if (accepted := self._run.noted(number)) is None:
                return await self._tool(SEND_TOOL, arguments)
            # a remote agent accepted the task before this server's process ended
            seconds = arguments.get("seconds", _USUAL_WAIT) if arguments.get("wait", True) else 0
            query = {"agent": accepted["agent"], "task_id": accepted["task_id"], "seconds": seconds}
            query |= {name: arguments[name] for name in ("max_characters",) if name in arguments}
            return await self._tool(_GET, query)

        return await self._durable_call("tool", SEND_TOOL, work, starts_task=True)

    async def read(self, uri: str) -> Any:
        """A resource: JSON decoded, other text as it is, anything else as bytes."""

        async def work() -> list[Json]:
            contents = await self._log.neighbours.read(self._run.caller, uri)
            return msgspec.to_builtins(contents)

        found = msgspec.convert(await self._durable_call("read", uri, work, repeatable=True), list[Contents])
        return _value(found[0]) if len(found) == 1 else [_value(one) for one in found]

    async def search(self, query: str, rooms: Sequence[str] | None, limit: int) -> Json:
        """The hits of all rooms, or of some."""
        arguments: Json = {"query": query, "limit": limit}
        if rooms is not None:
            arguments["rooms"] = list(rooms)
        return await self._durable_call("search", query, lambda: self._tool(_SEARCH, arguments), repeatable=True)

    async def send(
        self, agent: "str | ChildTask", message: Json, *, budget: Json | None, hosted: bool
    ) -> ChildTask:  # fmt: skip
        """Send a task to an agent, or (`ChildTask`) a further message; returns the task when it rests."""
        if isinstance(agent, ChildTask):
            message = {**message, "task_id": agent.task_id}
        if budget is not None:
            message = {**message, "budget": budget}
        name = agent.agent if isinstance(agent, ChildTask) else agent
        number = self._run.next_number()

        async def work() -> Json:
            if (view := self._run.noted(number)) is not None:
                chosen = view["agent"]  # a remote agent accepted the task before this server's process ended
            else:
                chosen = name
                if not isinstance(agent, ChildTask) and " " in name.strip():
                    chosen = await self._choose(name, hosted=hosted)
                view = await self._tool(SEND_TOOL, {**message, "agent": chosen, "seconds": _LONGEST_WAIT,
                                                "max_characters": _MOST_CHARACTERS})  # fmt: skip
            while view["state"] not in RESTING:
                query = {"task_id": view["task_id"], "seconds": _LONGEST_WAIT, "max_characters": _MOST_CHARACTERS}
                if "resource" not in view:
                    query["agent"] = chosen  # a remote agent has the task
                view = await self._tool(_GET, query)
            return {**view, "agent": chosen}

        view = await self._durable_call("send", name, work, starts_task=True)
        return msgspec.convert(view, ChildTask)

    async def _choose(self, description: str, *, hosted: bool) -> str:
        """The agent that best matches a description. Never this agent itself, which would send the task in a circle."""
        own = self._run.hosted.name
        found = await self._tool(_LIST, {"query": description, "limit": _CANDIDATES})
        fitting = [
            one
            for one in found["agents"]
            if (one["hosted_here"] and one["url"].rpartition("/")[2] != own) or not (hosted or one["hosted_here"])
        ]
        if not fitting or found.get("no_good_match"):
            hint = f"The nearest is {fitting[0]['id']}; name it if you mean it." if fitting else None
            raise NotFound(
                f"No agent fits the description {description[:100]!r}.",
                hint=hint or "List the agents, and name one.",
                details={"reason": "agent-not-found"},
            )
        return fitting[0]["id"]

    async def conversation(self, limit: int, cursor: str | None) -> ConversationPage:
        """Earlier tasks of the same context and owner, newest first."""
        run, log = self._run, self._log

        def work(rows: Rows) -> Any:
            caller = log.owner_now(rows, run.saved_caller)
            if caller is None:
                raise Forbidden(owner_is_gone(run.task.owner))
            if not caller.may("agents", "read"):
                raise Forbidden("This needs the scope agents:read.", details={"required_scope": "agents:read"})
            return conversation_heads(rows, run.task, limit, cursor)

        found = await log.database.read(work)
        return ConversationPage(tasks=await log.tasks(found.heads), next=found.next)

    def used_tokens(self, number: int) -> None:
        """Count tokens, and end the turn if that is too much."""
        run = self._run
        try:
            run.budget.count_tokens(number)
        except LimitExceeded as error:
            raise TurnOver(run.failed(error.sentence())) from None

    async def _tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        result = await self._log.neighbours.call_tool(self._run.caller, name, arguments)
        if result.get("isError"):
            raise error_from_result(result)
        structured = result.get("structuredContent")
        return text_of(result) if structured is None else structured

    async def _durable_call(
        self,
        kind: str,
        name: str,
        work: Callable[[], Awaitable[T]],
        *,
        repeatable: bool = False,
        starts_task: bool = False,
    ) -> T:
        """One durable call, counted and traced. It ends the turn if the budget is used up."""
        run = self._run
        run.budget.count_call()
        number = run.next_number()
        place = run.place(number)
        name = "".join(one if one.isprintable() else " " for one in name[:MAX_NAME])

        async def note_remote_task(agent: str, task_id: str) -> None:
            """Make the remote task end with this one, even if this process ends first."""
            view = {"agent": agent, "task_id": task_id, "state": "working"}
            await run.note_remote_child(Step(number, kind, name).noted(view))

        async def traced() -> T:
            await run.until_stored()
            try:
                await run.budget.spend()
            except LimitExceeded as error:
                raise TurnOver(run.failed(error.sentence())) from None
            own = trace_of(run.task.id, run.task.origin)
            span = TraceParent(own.trace_id, span_of(run.task.id, place), own.sampled)
            call = AgentCall(
                run.task.id,
                place if starts_task else None,
                str(span),
                note_remote_task if starts_task else None,
                lambda: run.stopped,
            )
            with making_call(call, run.caller.id):
                return await work()

        return await run.durable_call(kind, name, traced, repeatable=repeatable, waits=starts_task)


def _value(one: Contents) -> Any:
    if one.blob is not None:
        return base64.b64decode(one.blob)
    text = one.text or ""
    if one.mime_type is not None and one.mime_type.partition(";")[0].endswith("json"):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text
    return text
