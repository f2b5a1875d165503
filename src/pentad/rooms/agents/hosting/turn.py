"""What an agent receives for one turn: the message, and methods to respond.

Events are logged before anyone sees them. Events between two awaits are written together. Methods that end the turn
(`reject`, `fail`) do not return.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol, TypeAlias

from msgspec import UNSET, Struct, convert
from msgspec.structs import replace

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.principal import Principal
from pentad.rooms.agents.files import Content as FileContent
from pentad.rooms.agents.files import IncomingFile
from pentad.rooms.agents.models import (
    TERMINAL,
    ApprovalRequest,
    Artifact,
    ArtifactEvent,
    Body,
    Decision,
    Json,
    Message,
    MessageEvent,
    Part,
    State,
    StatusEvent,
    Task,
)

Content: TypeAlias = "str | Json | list[Any] | Part | Sequence[Part] | Message | None"
"""What an agent can say: text, a JSON value, parts, or a whole message."""
Work: TypeAlias = Callable[[], Awaitable[Any]]
"""The work of a durable call."""

_LONGEST_PAUSE: Final = 60.0
_KINDS: Final = "exactly one of text, data, raw, url and file"
_PAGE: Final = 20
_MAX_MESSAGES: Final = 1_000


class TaskFailed(PentadError, code="task_failed", status=422):
    """A task that an agent sent to another one did not complete."""

    def __init__(self, child: "ChildTask") -> None:
        super().__init__(
            f"The agent {child.agent} ended its task as {child.state}: {child.text or 'it gave no reason.'}",
            details={"agent": child.agent, "state": child.state, "task_id": child.task_id},
        )
        self.child = child


class ChildTask(Struct, frozen=True):
    """A resting task that this one sent to another agent. `text`, `data` and `files` are the agent's last message;
    `artifacts` have `id`, `name`, `text`, `data` and `files`.
    """

    agent: str
    state: State
    task_id: str | None = None
    context_id: str | None = None
    text: str = ""
    data: list[Any] | None = None
    files: list[Json] | None = None
    artifacts: list[Json] = []
    waiting_for: str | None = None
    """What the agent asked for, if anything: send it with `turn.send(child, ...)`."""

    def artifact(self, name: str) -> Any:
        """The content of an artifact, by name or id: its text, or its data."""
        for one in self.artifacts:
            if name in (one.get("name"), one["id"]):
                data = one.get("data") or [None]
                return one["text"] if one.get("text") is not None else data[0] if len(data) == 1 else data
        raise NotFound(f"The agent {self.agent} made no artifact {name[:100]!r}.")


class ConversationPage(Struct, frozen=True):
    """Tasks of a conversation, newest first. `next` is the cursor of the next page."""

    tasks: list[Task]
    next: str | None = None


@contextmanager
def in_branch(variable: ContextVar[str], branch: str) -> Generator[None]:
    """Set the branch of `Turn.gather` that runs inside the block."""
    token = variable.set(branch)
    try:
        yield
    finally:
        variable.reset(token)


class Rooms(Protocol):
    """The rooms, as available to one run (`tasks/room_calls.py`)."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any: ...

    async def read(self, uri: str) -> Any: ...

    async def search(self, query: str, rooms: Sequence[str] | None, limit: int) -> Json: ...

    async def send(self, agent: str | ChildTask, message: Json, *, budget: Json | None, hosted: bool) -> ChildTask: ...

    async def conversation(self, limit: int, cursor: str | None) -> ConversationPage: ...

    def used_tokens(self, number: int) -> None: ...


class TurnRun(Protocol):
    """The run behind a turn (`tasks/turn_runner.py`)."""

    task: Task
    state: State
    caller: Principal

    @property
    def canceled(self) -> asyncio.Event: ...

    @property
    def rooms(self) -> Rooms: ...

    def branches(self, count: int) -> Sequence[AbstractContextManager[None]]:
        """A separate place in the journal for each of several parallel calls."""
        ...

    def emit(self, body: Body) -> None: ...

    async def wait_for_space(self) -> None:
        """Wait until the log has caught up with the agent."""
        ...

    def next_id(self) -> str: ...

    async def answer(self, question: StatusEvent) -> Message: ...

    async def durable_call(
        self, kind: str, name: str, work: Work, *, repeatable: bool = False, waits: bool = False
    ) -> Any:  # fmt: skip
        """The next durable call of the turn. If an earlier run made it, its result is returned, or its error raised.

        Otherwise the work runs and its JSON result is stored. If the process ended while it ran, it runs again only if
        it is `repeatable`. `waits` means that it only waits for something outside, so it is repeatable, and a stopping
        server does not wait for it.
        """
        ...

    async def sleep(self, until: float) -> None: ...

    async def wait_for(self, event: str, seconds: float | None) -> Message: ...

    async def decision(self, request: ApprovalRequest) -> Json:
        """Ask for an approval and wait for the decision; a durable call like those above."""
        ...

    def incoming(self) -> AsyncGenerator[Message]: ...

    def context(self, message: Message) -> Any: ...

    async def whole_context(self, message: Message) -> Any: ...

    async def with_contents(self, message: Message) -> Message: ...

    def file(self, part: Part) -> IncomingFile | None: ...

    async def store_file(self, content: FileContent, name: str, media_type: str | None) -> str:
        """Store a result; returns its URL."""
        ...


class TurnOver(BaseException):
    """Ends a turn from anywhere. Not an Exception, so that an agent's `except Exception` does not catch it."""

    def __init__(self, body: StatusEvent) -> None:
        super().__init__(body.state)
        self.body = body


class Ask:
    """A question to the caller. Await it for the answer; or return it to end the turn, and the answer starts the
    next one. Both survive a restart: an awaited question runs the turn again up to it.
    """

    __slots__ = ("_run", "body")

    def __init__(self, run: TurnRun, body: StatusEvent) -> None:
        self._run = run
        self.body = body

    def __await__(self) -> Generator[Any, Any, Message]:
        return self._run.answer(self.body).__await__()


class Reply:
    """An answer without a task. If the agent returns it before doing anything else, no task is created."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message


class Turn:
    """One turn of one task."""

    __slots__ = ("_run", "message", "resumed")

    def __init__(self, run: TurnRun, message: Message, *, resumed: bool) -> None:
        self._run = run
        self.message = message
        self.resumed = resumed
        """Whether an earlier run of this turn was interrupted by the end of its process."""

    @property
    def backend(self) -> TurnRun:
        """The run behind the turn, for adapters that run the agent in another process."""
        return self._run

    @property
    def id(self) -> str:
        return self._run.task.id

    @property
    def caller(self) -> Principal:
        """Who started the turn, with the rights they still have, since they may lose some during a long turn."""
        return self._run.caller

    @property
    def context_id(self) -> str:
        return self._run.task.context_id

    @property
    def task(self) -> Task:
        """The task at the start of the turn."""
        return self._run.task

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def files(self) -> Sequence[IncomingFile]:
        """The files of the message, sent with it or uploaded before: `await file.read()`, `file.chunks()` or
        `async with file.path()`.
        """
        return self.files_in(self.message)

    def files_in(self, message: Message) -> Sequence[IncomingFile]:
        """The files of another message, such as an answer."""
        return [file for part in message.parts if (file := self._run.file(part)) is not None]

    @property
    def history(self) -> Sequence[Message]:
        """The messages before this turn."""
        return self._run.task.history

    @property
    def context(self) -> Any:
        """The `mcp_context` of the message."""
        return self._run.context(self.message)

    async def whole_context(self) -> Any:
        """The context of the conversation: what this and earlier messages sent, merged."""
        return await self._run.whole_context(self.message)

    async def with_contents(self, message: Message) -> Message:
        """A message with large contents of its context inlined in place of references."""
        return await self._run.with_contents(message)

    @property
    def conversation(self) -> "Conversation":
        """The earlier tasks of the conversation: those of the same context and the same caller."""
        return Conversation(self._run)

    async def call_tool(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool of any room, with the caller's rights. Returns its structured result, or its text; a tool that
        fails raises its error.
        """
        return await self._run.rooms.call_tool(name, arguments)

    async def read(self, uri: str) -> Any:
        """Read a resource of any room, with the caller's rights: JSON decoded, other text as `str`, the rest as
        `bytes`.
        """
        return await self._run.rooms.read(uri)

    async def search(self, query: str, *, rooms: Sequence[str] | None = None, limit: int = 5) -> Json:
        """Search all rooms, or some: `groups` of hits by kind, at most `limit` of each, with their resource URIs."""
        return await self._run.rooms.search(query, rooms, limit)

    async def send(
        self,
        agent: str | ChildTask,
        text: str | None = None,
        *,
        data: Json | None = None,
        context: Json | None = None,
        context_id: str | None = None,
        budget: Json | None = None,
        hosted: bool = False,
        check: bool = True,
    ) -> ChildTask:
        """Send a task to another agent and wait until it rests. The task is a child of this one and ends with it.

        `agent` is a hosted name, a readable id, the URL of a card, or a description in several words: then the agent
        that fits best gets the task (`hosted`: only one that runs here). A `ChildTask` continues that task, for example
        with an answer. A task that does not complete raises `TaskFailed`, unless `check` is False.
        """
        message = {"text": text, "data": data, "context": context, "context_id": context_id}
        given = {name: value for name, value in message.items() if value is not None}
        child = await self._run.rooms.send(agent, given, budget=budget, hosted=hosted)
        if check and child.state in TERMINAL and child.state != "completed":
            raise TaskFailed(child)
        return child

    async def gather(self, *calls: Awaitable[Any], limit: int = 8) -> list[Any]:
        """Run calls in parallel, at most `limit` at a time; returns their results in order. The first failure cancels
        the others.
        """
        if limit < 1:
            raise InvalidInput("The limit of a gather is at least 1.")
        for number, call in enumerate(calls, 1):
            if not inspect.isawaitable(call):
                _close(calls)
                raise InvalidInput(
                    f"gather takes calls that can be awaited; number {number} is a {type(call).__name__}.",
                    hint="Write turn.gather(turn.send(...), turn.send(...)), without await and lambda inside.",
                )
        slots = asyncio.Semaphore(limit)

        async def run(call: Awaitable[Any], branch: AbstractContextManager[None]) -> Any:
            with branch:
                async with slots:
                    return await call

        pairs = zip(calls, self._run.branches(len(calls)), strict=True)
        running = [asyncio.ensure_future(run(call, branch)) for call, branch in pairs]
        try:
            if running:
                await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            failed = next((one for one in running if one.done() and not one.cancelled() and one.exception()), None)
            return [one.result() for one in ([failed] if failed is not None else running)]
        finally:
            for one in running:
                one.cancel()
            if running:
                await asyncio.wait(running)
            _close(calls)

    def used_tokens(self, number: int) -> None:
        """Report tokens that a model used for this task. The task ends if its budget is used up."""
        self._run.rooms.used_tokens(number)

    @property
    def canceled(self) -> asyncio.Event:
        return self._run.canceled

    @property
    def is_over(self) -> bool:
        """Whether the task has ended, by the agent or by someone else, for instance by canceling it."""
        return self._run.state in TERMINAL

    def incoming(self) -> AsyncGenerator[Message]:
        """Messages the caller sends while the turn runs."""
        return self._run.incoming()

    async def working(self, content: Content = None) -> None:
        """Report progress, with an optional message."""
        self._run.emit(StatusEvent("working", self._message_from(content)))
        await self._run.wait_for_space()

    async def say(self, content: Content) -> None:
        """Send a message before the result; it becomes part of the history."""
        if (message := self._message_from(content)) is None:
            raise InvalidInput("The message is empty.")
        self._run.emit(MessageEvent(message))
        await self._run.wait_for_space()

    async def artifact(
        self,
        name: str,
        *,
        text: str | None = None,
        data: Any = UNSET,
        raw: str | None = None,
        url: str | None = None,
        file: FileContent | None = None,
        id: str | None = None,  # noqa: A002  the field's name
        media_type: str | None = None,
        filename: str | None = None,
        description: str | None = None,
        metadata: Json | None = None,
        append: bool = False,
        last: bool = True,
    ) -> None:
        """Publish an artifact; `raw` is base64. To add a chunk, use the same name or id with `append`.

        `file` is for large results: bytes, a path or chunks of any length. It is stored, and the artifact has its URL.
        """
        if [text is None, data is UNSET, raw is None, url is None, file is None].count(False) != 1:
            raise InvalidInput(f"An artifact has {_KINDS}.")
        if file is not None:
            filename = filename or (file.name if isinstance(file, Path) else name)
            url = await self._run.store_file(file, filename, media_type)
        part = Part(
            text=UNSET if text is None else text,
            data=data,
            raw=UNSET if raw is None else raw,
            url=UNSET if url is None else url,
            filename=filename,
            media_type=media_type,
        )
        made = Artifact(id=id or name, parts=(part,), name=name, description=description, metadata=metadata)
        self._run.emit(ArtifactEvent(made, append=append, last=last))
        await self._run.wait_for_space()

    async def emit(self, body: Body) -> None:
        """Append an event unchanged, for agents that build their own."""
        self._run.emit(body)
        await self._run.wait_for_space()

    def ask(self, content: Content) -> Ask:
        """Ask the caller: `answer = await turn.ask(...)`, or `return turn.ask(...)` to end the turn with the
        question.
        """
        return Ask(self._run, StatusEvent("input-required", self._message_from(content)))

    def need_login(self, content: Content = "Please sign in first.") -> Ask:
        """Ask the caller to sign in somewhere; await or return it like `ask`."""
        return Ask(self._run, StatusEvent("auth-required", self._message_from(content)))

    async def step(
        self, name: str, work: Callable[..., Any], *args: Any, repeatable: bool = False, attempts: int = 1
    ) -> Any:
        """Run `work(*args)` once, and store its result (JSON) in case the turn has to run again.

        If the process ended while it ran, the step raises `StepInterrupted`, because it may or may not have taken
        effect; a `repeatable` one runs again instead. If it fails, `attempts` says how often to try, with growing
        pauses; the last error is stored and raised as `StepFailed`.
        """
        return await self._run.durable_call("step", name, lambda: _attempt(work, args, attempts), repeatable=repeatable)

    async def sleep(self, seconds: float = 0.0, *, until: datetime | float | None = None) -> None:
        """Sleep for some seconds, or until a time. Survives restarts."""
        if isinstance(until, datetime):
            until = until.timestamp()
        await self._run.sleep(time.time() + seconds if until is None else until)

    async def wait_for(self, event: str, *, seconds: float | None = None) -> Message:
        """Wait for an event with this name, which the task's owner sends as a message; TimeoutError if the time is up.

        Survives restarts. An event received earlier in the turn counts, once.
        """
        return await self._run.wait_for(event, seconds)

    async def approve(
        self,
        what: str,
        *,
        by: str | Sequence[str],
        details: Json | None = None,
        deadline: float | None = None,
        requester_may_decide: bool = False,
    ) -> Decision:
        """Wait until a person approves or refuses: `if await turn.approve("Pay 900 EUR", by="admin"): ...`

        `by` names roles, scopes, people or groups. The caller of the task may not decide, unless
        `requester_may_decide`. After `deadline` seconds the decision is `expired`, which is not an approval. Survives
        restarts.
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        request = ApprovalRequest(
            what=what, by=names, details=details, deadline=deadline, requester_may_decide=requester_may_decide
        )
        return convert(await self._run.decision(request), Decision)

    def reply(self, content: Content) -> Reply:
        """`return turn.reply(...)` answers with a message only; no task is created."""
        return Reply(self._message_from(content) or self._message(()))

    def reject(self, content: Content = None) -> NoReturn:
        """Reject the task."""
        raise TurnOver(StatusEvent("rejected", self._message_from(content)))

    def fail(self, content: Content = None) -> NoReturn:
        """End the task as failed."""
        raise TurnOver(StatusEvent("failed", self._message_from(content)))

    def finished(self, result: Any) -> StatusEvent:
        """The status that ends the turn, made from what the agent returned."""
        if isinstance(result, Ask):
            return result.body
        if isinstance(result, Reply):
            return StatusEvent("completed", result.message)
        return StatusEvent("completed", self._message_from(result))

    def ended(self, state: State, text: str) -> StatusEvent:
        """A status with a text."""
        return StatusEvent(state, self._message((Part(text=text),)))

    def _message_from(self, content: Content) -> Message | None:
        if content is None:
            return None
        if isinstance(content, Message):
            return replace(content, role="agent", task_id=self.id, context_id=self.context_id)
        return self._message(parts_of(content))

    def _message(self, parts: tuple[Part, ...]) -> Message:
        run = self._run
        return Message(id=run.next_id(), role="agent", parts=parts, task_id=run.task.id, context_id=run.task.context_id)


class Conversation:
    """The conversation that a task belongs to."""

    __slots__ = ("_run",)

    def __init__(self, run: TurnRun) -> None:
        self._run = run

    async def tasks(self, limit: int = 20, cursor: str | None = None) -> ConversationPage:
        """A page of the tasks before this one, newest first. `cursor` is `next` of the previous page."""
        return await self._run.rooms.conversation(limit, cursor)

    async def messages(self, limit: int = 50) -> list[Message]:
        """The last messages of the conversation before this turn, oldest first."""
        if not 1 <= limit <= _MAX_MESSAGES:
            raise InvalidInput(f"A conversation gives 1 to {_MAX_MESSAGES} messages at once.")
        found = list(self._run.task.history[-limit:])
        cursor: str | None = None
        while len(found) < limit:
            page = await self.tasks(min(_PAGE, limit), cursor)
            for task in page.tasks:
                found = [*task.history, *found]
            if (cursor := page.next) is None:
                break
        return found[-limit:]


def _close(calls: Sequence[Any]) -> None:
    """Close calls that were never started."""
    for call in calls:
        if inspect.iscoroutine(call):
            call.close()


async def _attempt(work: Callable[..., Any], args: Sequence[Any], attempts: int) -> Any:
    for number in range(1, attempts + 1):
        try:
            result = work(*args)
            return await result if inspect.isawaitable(result) else result
        except Exception:
            if number >= attempts:
                raise
        await asyncio.sleep(min(2.0 ** (number - 1), _LONGEST_PAUSE))
    raise InvalidInput("A step needs at least one attempt.")


def parts_of(content: Any) -> tuple[Part, ...]:
    """The parts of a content: a text, one part, several parts, or a JSON value."""
    if isinstance(content, str):
        return (Part(text=content),)
    if isinstance(content, Part):
        return (content,)
    if isinstance(content, list | tuple) and content:
        given: list[Any] = list(content)  # pyright: ignore[reportUnknownArgumentType]  whatever the agent said
        if all(isinstance(one, Part) for one in given):
            return tuple(given)
    return (Part(data=content),)
