"""What an agent receives for one turn: the message, and the ways to respond.

Everything goes into the log before others see it. Events between two awaits are written together. Methods that end the
turn (`reject`, `fail`) do not return.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any, Final, NoReturn, Protocol, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Principal
from pentad.rooms.agents.models import (
    Artifact,
    ArtifactEvent,
    Body,
    Json,
    Message,
    MessageEvent,
    Part,
    State,
    StatusEvent,
    Task,
)

Content: TypeAlias = "str | Json | list[Any] | Part | Sequence[Part] | Message | None"
"""What an agent can say: a text, a JSON value, parts, or a whole message."""

_KINDS: Final = "exactly one of text, data, raw and url"


class TurnRun(Protocol):
    """The run behind a turn (`tasks/turn_runner.py`)."""

    task: Task
    caller: Principal
    canceled: asyncio.Event

    def emit(self, body: Body) -> None: ...

    async def wait_for_space(self) -> None:
        """Wait until the log has caught up with the agent."""
        ...

    def next_id(self) -> str: ...

    async def answer(self, question: Body) -> Message: ...

    def incoming(self) -> AsyncGenerator[Message]: ...

    def context(self, message: Message) -> Any: ...

    async def whole_context(self, message: Message) -> Any: ...


class TurnOver(BaseException):
    """Ends a turn from anywhere. Not an Exception, so that an agent's `except Exception` does not catch it."""

    def __init__(self, body: StatusEvent) -> None:
        super().__init__(body.state)
        self.body = body


class Ask:
    """A question to the caller. Await it for the answer; or return it to end the turn, and the answer starts the
    next one, which survives a restart."""

    __slots__ = ("_run", "body")

    def __init__(self, run: TurnRun, body: StatusEvent) -> None:
        self._run = run
        self.body = body

    def __await__(self) -> Generator[Any, Any, Message]:
        return self._run.answer(self.body).__await__()


class Reply:
    """An answer without a task. Return it as the first and only thing, and no task is created."""

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
    def id(self) -> str:
        return self._run.task.id

    @property
    def caller(self) -> Principal:
        """Who started the turn, with the rights that are left: a long turn can outlive some of them."""
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

    @property
    def canceled(self) -> asyncio.Event:
        return self._run.canceled

    def incoming(self) -> AsyncGenerator[Message]:
        """Messages the caller sends while the turn runs."""
        return self._run.incoming()

    async def working(self, content: Content = None) -> None:
        """Report that work goes on, with an optional message."""
        self._run.emit(StatusEvent("working", self._message_from(content)))
        await self._run.wait_for_space()

    async def say(self, content: Content) -> None:
        """Send a message before the result; it becomes part of the history."""
        if (message := self._message_from(content)) is None:
            raise InvalidInput("There is nothing to say.")
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
        id: str | None = None,  # noqa: A002  the field's name
        media_type: str | None = None,
        filename: str | None = None,
        description: str | None = None,
        metadata: Json | None = None,
        append: bool = False,
        last: bool = True,
    ) -> None:
        """Publish an artifact; `raw` is base64. To add a chunk, use the same name or id with `append`."""
        if [text is None, data is UNSET, raw is None, url is None].count(False) != 1:
            raise InvalidInput(f"An artifact has {_KINDS}.")
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
        """Append an event as it is, for agents that build their own."""
        self._run.emit(body)
        await self._run.wait_for_space()

    def ask(self, content: Content) -> Ask:
        """Ask the caller: `answer = await turn.ask(...)`, or `return turn.ask(...)` to end the turn with the
        question."""
        return Ask(self._run, StatusEvent("input-required", self._message_from(content)))

    def need_login(self, content: Content = "Please sign in first.") -> Ask:
        """Ask the caller to sign in somewhere; await or return it like `ask`."""
        return Ask(self._run, StatusEvent("auth-required", self._message_from(content)))

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
        """The status that ends the turn, from what the agent returned."""
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
