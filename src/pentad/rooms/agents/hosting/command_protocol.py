"""The protocol of agents that run as a command: one process per turn, JSON lines on stdin and stdout.

Pentad writes a `turn` line, and later the results of questions and calls. The agent writes events and, last, an `end`:

    -> {"type": "turn", "version": 1, "message": {"id": "m1", "role": "user", "parts": [{"text": "Paint it"}]}, ...}
    <- {"type": "working", "text": "Mixing."}
    <- {"type": "ask", "id": 1, "text": "Which colour?"}
    -> {"type": "result", "id": 1, "result": {"id": "m2", "role": "user", "parts": [{"text": "Red"}]}}
    <- {"type": "artifact", "name": "picture", "text": "..."}
    <- {"type": "end", "text": "Painted."}

The content of a line is a `text`, a JSON value as `data`, or `parts`; a part has one of text, data, raw (base64) and
url, and may have filename, media_type and metadata. Any other output ends the task as failed; use stderr for logs,
which go into the server's log. When stdin ends, the process must end, too.
"""

import asyncio
import inspect
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from contextvars import Context, copy_context
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from pentad.agentvault.server import StepFailed, StepInterrupted
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, PentadError, error_from_json
from pentad.kernel.ids import opaque_id
from pentad.kernel.incidents import internal_error
from pentad.kernel.json_values import as_object
from pentad.rooms.agents.hosting.turn import ChildTask, Content, Turn, TurnOver
from pentad.rooms.agents.models import Artifact, ArtifactEvent, Json, Message, Part, StatusEvent, Task

VERSION: Final = 1
_MAX_PENDING: Final = 64
"""How many questions and calls of one turn may be open at once."""
_MAX_BRANCHES: Final = 1_000


class Contents(Struct, omit_defaults=True, kw_only=True):
    """The content of a line: text, a JSON value, or parts."""

    text: str | UnsetType = UNSET
    data: Any = UNSET
    parts: tuple[Part, ...] = ()
    metadata: Json | None = None

    def all_parts(self, filename: str | None = None, media_type: str | None = None) -> tuple[Part, ...]:
        """The parts, with the text or value first."""
        if self.text is UNSET and self.data is UNSET:
            return self.parts
        first = Part(text=self.text, data=self.data, filename=filename, media_type=media_type)
        return first, *self.parts

    def as_content(self) -> Content:
        """The content of a message, as an agent would give it to its turn."""
        parts = self.all_parts()
        if self.metadata is None:
            return parts or None
        return Message(id=opaque_id(), role="agent", parts=parts, metadata=self.metadata)


# What the agent writes


class Working(Contents, tag="working"):
    """Progress."""


class Say(Contents, tag="say"):
    """A message before the result."""


class ArtifactLine(Contents, tag="artifact", kw_only=True):
    """An artifact, or (`append`) one more chunk of it."""

    name: str
    id: str | None = None
    description: str | None = None
    filename: str | None = None
    media_type: str | None = None
    append: bool = False
    last: bool = True


class Question(Contents, tag="ask", kw_only=True):
    """A question to the caller, answered by a `result` that is the caller's message."""

    id: int
    state: Literal["input-required", "auth-required"] = "input-required"
    branch: str = ""


class Listen(Struct, tag="listen"):
    """From now on, messages that the caller sends during the turn come as `message` lines."""


class Call(Struct, tag="call", kw_only=True):
    """Calls a method of the turn (`CALLS`), answered by `result` or `error`."""

    id: int
    method: str
    params: Json = {}
    branch: str = ""


class StepLine(Struct, tag="step", kw_only=True):
    """A step that runs once (`turn.step`). A `run` line means: run it, and report with `done`.

    In either case a `result` or an `error` follows, from this run or an earlier one.
    """

    id: int
    name: str
    repeatable: bool = False
    branch: str = ""


class Branches(Struct, tag="branches", kw_only=True):
    """Calls that run at once (`turn.gather`). Questions, calls and steps may name the branches `<id>.0`, `<id>.1` and
    so on, so that each branch finds its own results if the turn runs again.
    """

    id: int
    count: int
    branch: str = ""


class Done(Struct, tag="done", kw_only=True, omit_defaults=True):
    """The result of a step, or the text of its error."""

    id: int
    result: Any = None
    error: str | None = None
    kind: str = "RuntimeError"


class End(Contents, tag="end", kw_only=True):
    """Ends the turn. The two interrupted states end it with a question; the answer starts the next turn."""

    state: Literal["completed", "failed", "rejected", "input-required", "auth-required"] = "completed"


FromAgent = Working | Say | ArtifactLine | Question | Listen | Call | StepLine | Branches | Done | End


# What Pentad writes


class CallerLine(Struct, omit_defaults=True):
    """Who started the turn."""

    id: str
    name: str
    scopes: list[str]
    kind: str = "user"


class TurnLine(Struct, tag="turn", omit_defaults=True, kw_only=True):
    """The first line. `task` is the task before this turn, with its history and artifacts."""

    version: int
    task: Task
    message: Message
    caller: CallerLine
    context: Json | None = None
    resumed: bool = False


class MessageLine(Struct, tag="message"):
    """A message the caller sent during the turn."""

    message: Message


class Result(Struct, tag="result"):
    """The result of a question or a call."""

    id: int
    result: Any


class ErrorLine(Struct, tag="error"):
    """A call failed. The error has `code`, `message` and perhaps `hint` and `details`."""

    id: int
    error: Json


class RunStep(Struct, tag="run"):
    """Run the step with this id: no earlier run of the turn did."""

    id: int


class Cancel(Struct, tag="cancel"):
    """The task was canceled or its time is up. The process is killed a moment later."""


ToAgent = TurnLine | MessageLine | Result | ErrorLine | RunStep | Cancel

encode_line: Final = msgspec.json.Encoder().encode
decode_from_agent: Final = msgspec.json.Decoder(FromAgent).decode
decode_to_agent: Final = msgspec.json.Decoder(ToAgent).decode

Write = Callable[[bytes], Awaitable[None]]
"""Writes one line, without its newline, and waits until there is room for more."""


class OutputEnded(Exception):
    """The agent's output ended before its turn."""


async def run_turn(turn: Turn, lines: AsyncIterator[bytes], write: Write) -> Any:
    """Run a turn over the lines of an agent; returns its result. OutputEnded if the lines end before the turn."""
    async with AsyncExitStack() as at_end:
        return await Conversation(turn, write, at_end).run(lines)


class Conversation:
    """Pentad's side of one turn."""

    def __init__(self, turn: Turn, write: Write, at_end: AsyncExitStack) -> None:
        self.turn = turn
        self.at_end = at_end
        """Closed when the turn ends, for example temporary files the agent reads."""
        self._write_line = write
        self._pending: set[asyncio.Task[None]] = set()
        self._steps: dict[int, asyncio.Future[Done]] = {}
        self._branches: dict[str, Context] = {"": copy_context()}
        self._listening = False
        self._reading: asyncio.Task[Any] | None = None
        self._over: TurnOver | None = None

    async def run(self, lines: AsyncIterator[bytes]) -> Any:
        self._reading = asyncio.current_task()
        try:
            self._start(self._write(turn_line(self.turn)))
            async for line in lines:
                if isinstance(said := decode_line(line), End):
                    return self._result(said)
                await self._handle(said)
        except asyncio.CancelledError:
            if self._over is None or self._reading is None:
                raise
            self._reading.uncancel()
            raise self._over from None
        finally:
            self._reading = None
            for task in self._pending:
                task.cancel()
            await asyncio.gather(*self._pending, return_exceptions=True)
        raise OutputEnded

    async def _handle(self, said: FromAgent) -> None:
        match said:
            case Working():
                await self.turn.working(said.as_content())
            case Say():
                await self.turn.say(said.as_content())
            case ArtifactLine():
                await self.turn.emit(_artifact(said))
            case Listen():
                if not self._listening:
                    self._listening = True
                    self._start(self._forward_messages())
            case Branches():
                self._open_branches(said)
            case Done():
                if (step := self._steps.pop(said.id, None)) is not None and not step.done():
                    step.set_result(said)
            case Question() | Call() | StepLine():
                while len(self._pending) >= _MAX_PENDING:
                    await asyncio.wait(self._pending, return_when=asyncio.FIRST_COMPLETED)
                self._start(self._answer(said), said.branch)
            case End():
                pass

    def _start(self, work: Coroutine[Any, Any, None], branch: str = "") -> None:
        context = self._branches.get(branch, self._branches[""])
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._pending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Handle a call that ends the turn, such as one that exceeds the budget, whatever the agent does."""
        self._pending.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TurnOver) and self._over is None and self._reading is not None:
            self._over = error
            self._reading.cancel()

    def _open_branches(self, said: Branches) -> None:
        if not 0 <= said.count <= _MAX_BRANCHES or len(self._branches) > _MAX_BRANCHES:
            raise LimitExceeded(f"A turn may have {_MAX_BRANCHES} branches.")
        parent = self._branches.get(said.branch, self._branches[""])
        for number, branch in enumerate(parent.run(self.turn.backend.branches, said.count)):
            context = self._branches[f"{said.id}.{number}"] = parent.copy()
            context.run(branch.__enter__)
            self.at_end.callback(context.run, branch.__exit__, None, None, None)

    async def _answer(self, said: Question | Call | StepLine) -> None:
        if isinstance(said, Question):
            work = self._ask(said)
        elif isinstance(said, Call):
            work = self._call(said)
        else:
            work = self.turn.step(said.name, self._run_step, said.id, repeatable=said.repeatable)
        try:
            line = encode_line(Result(said.id, await work))
        except Exception as error:  # noqa: BLE001  the agent gets it; unexpected ones are in the log
            line = encode_line(ErrorLine(said.id, error_to_json(error)))
        await self._write_line(line)

    async def _run_step(self, step_id: int) -> Any:
        """Let the agent run a step."""
        done = self._steps[step_id] = asyncio.get_running_loop().create_future()
        await self._write(RunStep(step_id))
        said = await done
        if said.error is not None:
            raise type(said.kind, (RuntimeError,), {})(said.error)
        return said.result

    async def _ask(self, said: Question) -> Message:
        ask = self.turn.need_login if said.state == "auth-required" else self.turn.ask
        return await ask(said.as_content())

    async def _call(self, said: Call) -> Any:
        if (call := CALLS.get(said.method)) is None:
            raise NotFound(f"There is no call {said.method[:80]!r}.", hint=f"Calls are {', '.join(sorted(CALLS))}.")
        try:
            given = inspect.signature(call).bind(self, **said.params)
        except TypeError as error:
            raise InvalidInput(f"The params of {said.method} are wrong: {error}.") from error
        try:
            return await call(*given.args, **given.kwargs)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"The params of {said.method} are wrong: {error}.") from error

    async def _forward_messages(self) -> None:
        async for message in self.turn.incoming():
            await self._write(MessageLine(message))

    async def _write(self, line: ToAgent) -> None:
        await self._write_line(encode_line(line))

    def _result(self, said: End) -> Any:
        content = said.as_content()
        match said.state:
            case "completed":
                return content
            case "input-required":
                return self.turn.ask(content)
            case "auth-required":
                return self.turn.need_login(content)
            case "failed":
                return self.turn.fail(content)
            case "rejected":
                return self.turn.reject(content)


async def _whole_context(host: Conversation) -> Any:
    return _as_json(await host.turn.whole_context())


async def _content(host: Conversation, name: str, whole: bool = False) -> Any:
    context = await host.turn.whole_context() if whole else host.turn.context
    if context is None:
        raise NotFound("The message has no context.")
    return await context.content(name)


async def _with_contents(host: Conversation, message: Json) -> Any:
    return await host.turn.with_contents(msgspec.convert(message, Message))


async def _sleep(host: Conversation, until: float) -> Any:
    await host.turn.sleep(until=until)


async def _wait_for(host: Conversation, event: str, seconds: float | None = None) -> Any:
    return await host.turn.wait_for(event, seconds=seconds)


async def _call_tool(host: Conversation, name: str, arguments: Json | None = None) -> Any:
    return await host.turn.call_tool(name, **(arguments or {}))


async def _read(host: Conversation, uri: str) -> Any:
    found = await host.turn.read(uri)
    return {"base64": b64encode(found).decode()} if isinstance(found, bytes) else {"value": found}


async def _search(host: Conversation, query: str, rooms: list[str] | None = None, limit: int = 5) -> Any:
    return await host.turn.search(query, rooms=rooms, limit=limit)


async def _send(
    host: Conversation, agent: str | Json, message: Json, budget: Json | None = None, hosted: bool = False
) -> Any:
    to = agent if isinstance(agent, str) else msgspec.convert(agent, ChildTask)
    return await host.turn.backend.rooms.send(to, message, budget=budget, hosted=hosted)


async def _conversation(host: Conversation, limit: int = 20, cursor: str | None = None) -> Any:
    return await host.turn.conversation.tasks(limit, cursor)


async def _used_tokens(host: Conversation, number: int) -> Any:
    host.turn.used_tokens(number)


async def _approve(
    host: Conversation,
    what: str,
    by: str | list[str],
    details: Json | None = None,
    deadline: float | None = None,
    requester_may_decide: bool = False,
) -> Any:
    return await host.turn.approve(
        what, by=by, details=details, deadline=deadline, requester_may_decide=requester_may_decide
    )


async def _file(host: Conversation, part: Json) -> Any:
    """Write a message's file to the file system, until the turn ends."""
    found = host.turn.backend.file(msgspec.convert(part, Part))
    return None if found is None else str(await host.at_end.enter_async_context(found.path()))


async def _store_file(host: Conversation, path: str, name: str, media_type: str | None = None) -> Any:
    """Store a file that the agent wrote."""
    return await host.turn.backend.store_file(Path(path), name, media_type)


CALLS: Final[dict[str, Callable[..., Awaitable[Any]]]] = {
    "approve": _approve,
    "call_tool": _call_tool,
    "content": _content,
    "conversation": _conversation,
    "file": _file,
    "read": _read,
    "search": _search,
    "send": _send,
    "sleep": _sleep,
    "store_file": _store_file,
    "used_tokens": _used_tokens,
    "wait_for": _wait_for,
    "whole_context": _whole_context,
    "with_contents": _with_contents,
}
"""The turn methods that a `call` may name, with the same parameters. Each returns JSON."""


def decode_line(line: bytes) -> FromAgent:
    """One line of an agent; InvalidInput if it is not part of the protocol."""
    try:
        return decode_from_agent(line)
    except msgspec.MsgspecError as error:
        shown = line[:80].decode(errors="replace")
        raise InvalidInput(
            f"The agent wrote a line that is not part of its protocol: {shown!r} ({error}).",
            hint="Only JSON lines belong on stdout; write logs to stderr.",
        ) from None


def error_to_json(error: Exception) -> Json:
    """An error for the agent: `code`, `message` and, for steps, what `StepFailed` has."""
    if isinstance(error, StepFailed):
        code = "step_interrupted" if isinstance(error, StepInterrupted) else "step_failed"
        details = {"step": error.step, "kind": error.kind, "text": error.text, "report": error.report}
        return {"code": code, "message": str(error), "details": details}
    if isinstance(error, TimeoutError):
        return {"code": "timeout", "message": str(error)}
    if isinstance(error, PentadError):
        return error.as_json()
    return internal_error(error, "A call of an agent").as_json()


def error_in(error: Json) -> Exception:
    """The error in an `ErrorLine`, for the agent to raise."""
    message, details = str(error.get("message", "")), as_object(error.get("details"))
    match error.get("code"):
        case "step_interrupted":
            return StepInterrupted(**details)
        case "step_failed":
            return StepFailed(**details)
        case "timeout":
            return TimeoutError(message)
        case _:
            return error_from_json(error)


def turn_line(turn: Turn) -> TurnLine:
    """The first line for a turn."""
    caller = turn.caller
    return TurnLine(
        version=VERSION,
        task=turn.task,
        message=turn.message,
        caller=CallerLine(caller.id, caller.name, sorted(caller.scopes), caller.kind),
        context=_as_json(turn.context),
        resumed=turn.resumed,
    )


def end_line(body: StatusEvent) -> End:
    """The last line for the status that ends a turn."""
    message = body.message
    state: Any = body.state
    return End(
        state=state,
        parts=() if message is None else message.parts,
        metadata=None if message is None else message.metadata,
    )


def _artifact(said: ArtifactLine) -> ArtifactEvent:
    made = Artifact(
        id=said.id or said.name,
        parts=said.all_parts(said.filename, said.media_type),
        name=said.name,
        description=said.description,
        metadata=said.metadata,
    )
    return ArtifactEvent(made, append=said.append, last=said.last)


def _as_json(context: Mapping[str, Any] | None) -> Json | None:
    return None if context is None else dict(context)
